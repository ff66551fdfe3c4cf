"""Lines and claims of tables that print an accuracy and its variance for each method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

from fedclade.papers.found import Found, Seen, over
from fedclade.papers.item import Claim, Line, Outcome
from fedclade.papers.training import on_training_examples
from fedclade.papers.verdicts import EQUAL, POINTS

Printed = Mapping[str, tuple[float, float]]
"""Accuracy in percent and its variance over clients, by method."""
BASELINE = "FedAvg"
GROUPLESS = (BASELINE, "Local")  # there is nothing to find for them
OTHER_DATA = ("mnist-writers",)  # where the paper has another task


@dataclass(frozen=True)
class Told:
    """What a table prints, and what the paper says of it."""

    hero: str
    """The paper's own method."""
    names: Mapping[str, str]
    """How its parts are called, data sets or nets."""
    printed: Mapping[str, Printed]
    claims: Callable[[Found, str, str], tuple[Claim, ...]]
    """Of one part: its runs, the setting, and its name."""
    constant: float = 0.0
    """Percent that the same answer to everything would get."""


def accuracy_lines(
    found: Found, setting: str, printed: Printed, hero: str, *, what: str = "", train: bool = False, constant: float = 0
) -> tuple[Line, ...]:
    """Accuracy and variance of every method that was run, beside what is printed.

    `hero` is the paper's own method: others are compared with it, and it with FedAvg. Who is no better than a
    `constant` answer on test examples does not count; with other data than the printed only directions do.
    """
    prefix = "train " if train else ""
    points = 0.0 if found.setting(setting).data["source"] in OTHER_DATA else POINTS
    seen = {label: figures(found, setting, label, train=train) for label in found.labels(setting)}
    lines: list[Line] = []
    for place, name in enumerate(("accuracy", "variance")):
        for label, values in seen.items():
            told = printed[label][place] if label in printed else None
            rival = BASELINE if label.startswith("FLT") else hero
            other = (printed[rival][place], seen[rival][place].mean) if told is not None and rival in printed else None
            lines.append(
                Line(
                    row=label,
                    column=f"{what}{prefix}{name}",
                    printed=told,
                    ours=values[place].mean,
                    deviation=values[place].deviation,
                    tolerance=points if name == "accuracy" else half_to_double(told, values[place].mean),
                    other=other,
                    equal=EQUAL,
                    aside=name == "variance" or no_better(found.accuracy(setting, label), constant),
                )
            )
    missing = [label for label in printed if label not in seen and not train]
    lines += [Line(row=label, column=f"{what}accuracy", printed=printed[label][0], ours=None) for label in missing]
    return tuple(lines)


def table_of(found: Found, scenario: int, told: Told, *, trained: Mapping[str, Printed] | None = None) -> Outcome:
    """Every part of a table that was asked for, and the accuracy on training examples if that is printed too."""
    here = {part: f"s{scenario}-{part}" for part in told.printed if found.has(f"s{scenario}-{part}")}
    read = partial(accuracy_lines, found, hero=told.hero, constant=told.constant)
    lines = [
        *(
            read(setting, trained[part], what=told.names[part], train=True)
            for part, setting in here.items()
            if trained is not None
        ),
        *(read(setting, told.printed[part], what=told.names[part]) for part, setting in here.items()),
        *(ari_lines(found, setting, told.names[part]) for part, setting in here.items() if trained is None),
    ]
    said = [told.claims(found, setting, told.names[part]) for part, setting in here.items()]
    notes = [note for part, setting in here.items() if (note := unlearned(found, setting, told, part))]
    return Outcome(tuple(chain(*lines)), tuple(chain(*said)), notes=tuple(notes))


def ari_lines(found: Found, setting: str, what: str) -> tuple[Line, ...]:
    """How near the groups of each method are to the planted ones; papers do not print it. Nothing where none are."""
    ours = {label: found.aris(setting, label) for label in found.labels(setting) if label not in GROUPLESS}
    return tuple(
        Line(row=label, column=f"{what}ARI", printed=None, ours=over(each).mean, deviation=over(each).deviation)
        for label, each in ours.items()
        if each
    )


def no_better(accuracy: Seen, constant: float) -> bool:
    """Whether the same answer to everything would do as well."""
    return accuracy.mean <= constant + EQUAL


def unlearned(found: Found, setting: str, told: Told, part: str) -> str:
    """Who has learned nothing in these few rounds, in a sentence; empty if everybody has learned something."""
    labels = [label for label in found.labels(setting) if no_better(found.accuracy(setting, label), told.constant)]
    if not labels:
        return ""
    return (
        f"{told.names[part].strip()}: the models of {', '.join(labels)} are no better than the same answer to "
        f"everything ({told.constant:.1f} %). They have learned nothing in these rounds, their lines do not count, and "
        "how far somebody is ahead of them is counted from that answer."
    )


def figures(found: Found, setting: str, label: str, *, train: bool) -> tuple[Seen, Seen]:
    """Accuracy and variance of a method, on test or training examples."""
    if train:
        return on_training_examples(found, setting, label)
    return found.accuracy(setting, label), found.figure(setting, label, "accuracy_variance")


def half_to_double(printed: float | None, ours: float) -> float:
    """The tolerance that lets a variance through that is between half and twice the printed one."""
    if printed is None:
        return 0.0
    return printed if ours > printed else printed / 2


def at_least(
    found: Found, setting: str, hero: str, rival: str, by: float, text: str, *, main: bool = True, floor: float = 0.0
) -> Claim:
    """That one method is so many points ahead of another, or no further behind than so many if it is negative.

    `floor` is what the same answer to everything would get: from there it is counted if the rival is below.
    """
    ours, other = found.accuracy(setting, hero).mean, found.accuracy(setting, rival).mean
    seen = f"{hero} {ours:.1f} %, {rival} {other:.1f} %"
    if rival != BASELINE and is_one_model(found, setting, hero):
        return Claim(text, False, f"{seen}; {hero} has one model for everybody, like {BASELINE}, and no groups", main)
    if other < floor:
        seen += f", the same answer to everything {floor:.1f} %"
    return Claim(text, ours - max(other, floor) >= by, seen, main)


def is_one_model(found: Found, setting: str, label: str) -> bool:
    """Whether a method has put everybody into one group, with every seed: that is FedAvg."""
    return all(run.result().get("group_count") == 1 for run in found.runs(setting, label))


def fairer(found: Found, setting: str, hero: str, rival: str, text: str) -> Claim:
    """That accuracy varies less over clients with one method than with another."""
    ours, other = (found.figure(setting, label, "accuracy_variance").mean for label in (hero, rival))
    return Claim(text, ours < other, f"{hero} {ours:.1f}, {rival} {other:.1f}", main=False)


def ari_claim(found: Found, setting: str, label: str, least: float, text: str, *, main: bool = True) -> Claim:
    """That a method ends with the planted groups, or nearly."""
    seen = found.figure(setting, label, "ari")
    count = found.figure(setting, label, "group_count")
    return Claim(text, seen.mean >= least, f"ARI {seen.mean:.3f}, {count.mean:.0f} models", main)
