"""What a run is called beside others: its method, with the settings that tell it from others of that method."""

import tomllib
from collections.abc import Sequence


def labels_of(experiments: Sequence[str]) -> list[str]:
    """A name for each of these experiments, given as TOML. Runs that differ in their seed alone have the same name."""
    asked = [flat(each) for each in experiments]
    found: list[str] = []
    for mine in asked:
        others = [each for each in asked if each.get("method.name") == mine.get("method.name")]
        telling = [key for key in mine if any(each.get(key) != mine[key] for each in others)]
        settings = (f"{key.removeprefix('method.')} {mine[key]}" for key in telling)
        found.append(", ".join([mine.get("method.name", "unknown"), *settings]))
    return found


def flat(toml: str) -> dict[str, str]:
    """An experiment's settings by their full names, without those that change no result but by chance."""
    tables = tomllib.loads(toml)
    return {
        f"{section}.{key}": str(value)
        for section, table in tables.items()
        if isinstance(table, dict)
        for key, value in table.items()
        if section != "engine" and (section, key) != ("run", "seed")
    }
