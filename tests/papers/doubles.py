"""Runs that nobody made: folders as fedclade writes them, with figures, curves and facts made up by hand."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedclade.nouns import Assignment
from fedclade.papers.found import Found
from fedclade.papers.item import Line, Outcome, Scale, Setting, Terms
from fedclade.papers.plans import folder_of
from fedclade.runs.folder import RunFolder

Facts = Mapping[int, Mapping[str, object]]
"""By round."""


def found_in(folder: Path, settings: Iterable[Setting], *, scale: Scale = "small", seeds: int = 0) -> Found:
    """The runs of these settings, to be written by `ran`; with so many seeds, or as many as the settings have."""
    kept = [replace(each, seeds=seeds) if seeds else each for each in settings]
    return Found(Terms(folder, scale), kept)


def ran(
    found: Found,
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
        *({"event": "round", "round": number, "facts": told} for number, told in (facts or {}).items()),
        *({"event": "evaluation", "round": number, **told} for number, told in (evaluations or {}).items()),
    ]
    for seed in seeds or range(asked_for.seeds):
        path = folder_of(asked_for, label, seed, found.terms)
        if models is not None:  # sealed by checksums: let the run do that
            with RunFolder.create(path, asked, {}) as run:
                run.finish({}, models)
        path.mkdir(parents=True, exist_ok=True)
        for name, value in (("environment.json", {}), ("result.json", dict(result or {}))):
            (path / name).write_text(json.dumps(value))
        (path / "experiment.toml").write_text(asked)
        (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def scored(
    found: Found,
    setting: str,
    scores: Mapping[str, tuple[float, float]],
    **more: Mapping[str, float],
) -> None:
    """Runs that end with these accuracies, in percent, and variances; and with more figures, by method."""
    for label, (accuracy, variance) in scores.items():
        figures = {name: by_label[label] for name, by_label in more.items()}
        result = {"accuracy": accuracy / 100, "accuracy_variance": variance, **figures}
        ran(found, setting, label, result=result)


def climbed(found: Found, setting: str, curves: Mapping[str, Mapping[int, float]], key: str = "accuracy") -> None:
    """Runs with these curves: a figure by round, accuracies in percent. Each ends with its last one."""
    for label, curve in curves.items():
        unit = 100 if key == "accuracy" else 1
        points = {number: {key: value / unit} for number, value in curve.items()}
        ran(found, setting, label, evaluations=points, result=points[max(points)])


def homes(home: Mapping[str, int]) -> Assignment:
    """Who has which model; what the models are does not matter."""
    return Assignment(np.zeros((max(home.values()) + 1, 1), np.float32), dict(home))


def line(outcome: Outcome, row: str, column: str) -> Line:
    """The one line of this row and column."""
    (one,) = [each for each in outcome.lines if (each.row, each.column) == (row, column)]
    return one


def holds(outcome: Outcome, *words: str) -> set[bool]:
    """Whether the claims that speak of all of these hold: {True}, {False}, or both. There must be one at least."""
    seen = {
        claim.holds
        for claim in outcome.claims
        if all(word.lower() in f"{claim.text} {claim.told}".lower() for word in words)
    }
    assert seen, f"no claim speaks of {words}: {[claim.text for claim in outcome.claims]}"
    return seen


def all_hold(outcome: Outcome) -> bool:
    """Whether all claims hold, and there are some."""
    return holds(outcome) == {True}


def stands(outcome: Outcome) -> bool:
    """Whether all claims hold with which the item stands or falls, and there are some."""
    return {claim.holds for claim in outcome.claims if claim.main} == {True}
