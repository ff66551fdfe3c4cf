"""What a run is called beside others: its method, with the settings in which runs of that method differ."""

import tomllib
from collections.abc import Mapping, Sequence

from fedclade.core.settings import flat_table


def labels_of(experiments: Sequence[str]) -> list[str]:
    """A name for each of these experiments, given as TOML. Runs that differ only in their seed have the same name."""
    asked = [flat_settings(each) for each in experiments]
    found: list[str] = []
    for mine in asked:
        others = [each for each in asked if each.get("method.name") == mine.get("method.name")]
        differing = [
            key for key in mine if any(each.get(key) != mine[key] for each in others if same_kind(key, each, mine))
        ]
        settings = (f"{key.removeprefix('method.').removesuffix('.kind')} {mine[key]}" for key in differing)
        found.append(", ".join([mine.get("method.name", "unknown"), *settings]))
    return found


def same_kind(key: str, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether a setting can be compared: those of a nested table only where it is of one kind in both."""
    kind = key.rpartition(".")[0] + ".kind"
    return key == kind or one.get(kind) == other.get(kind)


def indices_by_label(labels: Sequence[str]) -> dict[str, list[int]]:
    """Where each label stands, in the order in which labels first appear."""
    return {label: [index for index, other in enumerate(labels) if other == label] for label in labels}


def flat_settings(toml: str) -> dict[str, str]:
    """An experiment's settings by their full names, without the seed and those that change no result."""
    found = flat_table(tomllib.loads(toml))
    return {key: value for key, value in found.items() if not key.startswith("engine.") and key != "run.seed"}
