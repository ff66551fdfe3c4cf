"""Runs made up by hand: folders as fedclade writes them, with the metrics, curves and facts that a test chooses."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedclade.core import Assignment
from fedclade.store.run_folder import RunFolder
from fedclade_papers.item import Item, Outcome, Scale, Setting, Terms
from fedclade_papers.run_plans import folder_of
from fedclade_papers.run_results import ItemRuns

Facts = Mapping[int, Mapping[str, object]]
"""By round."""


def found_in(folder: Path, settings: Iterable[Setting], *, scale: Scale = "small", seeds: int = 0) -> ItemRuns:
    """The runs of these settings, to be written by `ran`; with so many seeds, or as many as the settings have."""
    return ItemRuns(Terms(folder, scale), [replace(each, seeds=seeds or each.seeds) for each in settings])


def runs_of(folder: Path, item: Item, *, setting: str = "", seeds: int = 0) -> ItemRuns:
    """The runs of an item at small scale, or of one of its settings."""
    return found_in(folder, [each for each in item.settings(Terms(folder)) if setting in ("", each.name)], seeds=seeds)


def ran(
    found: ItemRuns,
    setting: str,
    label: str,
    *,
    seeds: Iterable[int] = (),
    result: Mapping[str, object] | None = None,
    evaluations: Facts | None = None,
    facts: Facts | None = None,
    models: Assignment | None = None,
    asked: str = "",
) -> None:
    """Write the run of a method, the same for these seeds or for all."""
    asked_for = found.setting(setting)
    events = [
        *({"event": "round", "round": number, "facts": values} for number, values in (facts or {}).items()),
        *({"event": "evaluation", "round": number, **values} for number, values in (evaluations or {}).items()),
    ]
    for seed in seeds or range(asked_for.seeds):
        path = folder_of(asked_for, label, seed, found.terms)
        if models is not None:  # they are sealed by checksums: let the run write them
            with RunFolder.create(path, asked, {}) as run:
                run.finish({}, models)
        path.mkdir(parents=True, exist_ok=True)
        for name, value in (("environment.json", {}), ("result.json", dict(result or {}))):
            (path / name).write_text(json.dumps(value))
        (path / "experiment.toml").write_text(asked)
        (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def climbed(found: ItemRuns, setting: str, curves: Mapping[str, Mapping[int, float]]) -> None:
    """Runs with these accuracies in percent, by round; each ends with its last one."""
    for label, curve in curves.items():
        points = {number: {"accuracy": value / 100} for number, value in curve.items()}
        ran(found, setting, label, evaluations=points, result=points[max(points)])


def homes(home: Mapping[str, int]) -> Assignment:
    """An assignment of clients to models; the models' content does not matter."""
    return Assignment(np.zeros((max(home.values()) + 1, 1), np.float32), dict(home))


def shown(outcome: Outcome, row: str, column: str) -> tuple[float | None, float | None]:
    """The one line of this row and column: printed, and ours to nine digits."""
    (one,) = [each for each in outcome.lines if (each.row, each.column) == (row, column)]
    return one.printed, one.ours if one.ours is None else round(one.ours, 9)


def check(outcome: Outcome, *fails: str) -> None:
    """The claims that contain one of these words fail, and all others hold."""
    texts = {f"{claim.text} {claim.evidence}": claim.holds for claim in outcome.claims}
    assert texts
    assert {text: not any(words in text for words in fails) for text in texts} == texts
    assert all(any(words in text for text in texts) for words in fails)


def holds(outcome: Outcome, *words: str) -> set[bool]:
    """Whether the claims that contain all of these words hold: {True}, {False}, or both. There must be one at least."""
    seen = {claim.holds for claim in outcome.claims if all(word in f"{claim.text} {claim.evidence}" for word in words)}
    assert seen, f"no claim speaks of {words}: {[claim.text for claim in outcome.claims]}"
    return seen
