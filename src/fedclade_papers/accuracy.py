"""Lines and claims of tables that print an accuracy and its variance for each method."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fedclade_papers.item import Claim, Outcome, ResultLine
from fedclade_papers.run_results import ItemRuns, SeedStatistics, seed_statistics
from fedclade_papers.training_accuracy import on_training_examples
from fedclade_papers.verdicts import EQUAL_POINTS, TOLERANCE_POINTS

Printed = Mapping[str, tuple[float, float]]
"""Accuracy in percent and its variance over clients, by method."""
BASELINE = "FedAvg"
GROUPLESS = (BASELINE, "Local")  # they have no groups to compare with the planted ones


@dataclass(frozen=True)
class PrintedTable:
    """What a table prints, and what the paper says of it."""

    names: Mapping[str, str]
    """How its parts are called, data sets or nets."""
    test: Mapping[str, Printed]
    train: Mapping[str, Printed]
    """On training examples, which the appendix prints (tables 7 to 10)."""
    claims: Callable[[ItemRuns, str, str], tuple[Claim, ...]]
    """Of one part: its runs, the setting, and its name."""
    constant: float = 0.0
    """Percent that the same answer to everything would get."""


def accuracy_lines(
    found: ItemRuns, setting: str, printed: Printed, *, what: str = "", train: bool = False
) -> tuple[ResultLine, ...]:
    """Accuracy and variance of every method that was run, beside what is printed."""
    prefix = "train " if train else ""
    seen = {label: accuracy_and_variance(found, setting, label, train=train) for label in found.labels(setting)}
    lines = [
        ResultLine(
            row=label,
            column=f"{what}{prefix}{name}",
            printed=printed[label][place] if label in printed else None,
            ours=values[place].mean,
            deviation=values[place].deviation,
        )
        for place, name in enumerate(("accuracy", "variance"))
        for label, values in seen.items()
    ]
    missing = [label for label in printed if label not in seen and not train]
    lines += [
        ResultLine(row=label, column=f"{what}accuracy", printed=printed[label][0], ours=None) for label in missing
    ]
    return tuple(lines)


def table_of(found: ItemRuns, scenario: int, table: PrintedTable) -> Outcome:
    """Every part of a table that was asked for: accuracy on test and training examples, groups, and claims."""
    here = {part: f"s{scenario}-{part}" for part in table.test if found.has(f"s{scenario}-{part}")}
    lines: list[ResultLine] = []
    for part, setting in here.items():
        name = table.names[part]
        lines += accuracy_lines(found, setting, table.test[part], what=name)
        lines += ari_lines(found, setting, name)
        lines += accuracy_lines(found, setting, table.train[part], what=name, train=True)
    said = [table.claims(found, setting, table.names[part]) for part, setting in here.items()]
    notes = [note for part, setting in here.items() if (note := constant_answer_note(found, setting, table, part))]
    return Outcome(tuple(lines), tuple(chain(*said)), notes=tuple(notes))


def ari_lines(found: ItemRuns, setting: str, what: str) -> tuple[ResultLine, ...]:
    """How near the groups of each method are to the planted ones, where there are any; papers do not print it."""
    ours = {label: found.aris(setting, label) for label in found.labels(setting) if label not in GROUPLESS}
    return tuple(
        ResultLine(
            row=label,
            column=f"{what}ARI",
            printed=None,
            ours=seed_statistics(each).mean,
            deviation=seed_statistics(each).deviation,
        )
        for label, each in ours.items()
        if each
    )


def is_no_better(accuracy: SeedStatistics, constant: float) -> bool:
    """Whether the same answer to everything would do as well."""
    return accuracy.mean <= constant + EQUAL_POINTS


def constant_answer_note(found: ItemRuns, setting: str, table: PrintedTable, part: str) -> str:
    """A sentence that names the methods that have learned nothing in these few rounds; empty if there are none."""
    labels = [label for label in found.labels(setting) if is_no_better(found.accuracy(setting, label), table.constant)]
    if not labels:
        return ""
    return (
        f"{table.names[part].strip()}: the models of {', '.join(labels)} are no better than the same answer to "
        f"everything ({table.constant:.1f} %). They have learned nothing in these rounds: how far "
        "somebody is ahead of them is counted from that answer."
    )


def accuracy_and_variance(
    found: ItemRuns, setting: str, label: str, *, train: bool
) -> tuple[SeedStatistics, SeedStatistics]:
    """Accuracy and variance of a method, on test or training examples."""
    if train:
        return on_training_examples(found, setting, label)
    return found.accuracy(setting, label), found.metric(setting, label, "accuracy_variance")


def printed_accuracy_claim(found: ItemRuns, setting: str, labels: Sequence[str], printed: Printed, name: str) -> Claim:
    """That methods have the printed accuracy, within the tolerance."""
    ours = {label: found.accuracy(setting, label).mean for label in labels}
    wanted = " and ".join(dict.fromkeys(f"{printed[label][0]:.2f}" for label in labels))
    near = all(abs(ours[label] - printed[label][0]) <= TOLERANCE_POINTS for label in labels)
    text = f"{name}FLT has the printed accuracy, {wanted} % (within {TOLERANCE_POINTS:g} points)"
    return Claim(text, near, ", ".join(f"{label} {value:.2f} %" for label, value in ours.items()))


def ahead_claim(
    found: ItemRuns,
    setting: str,
    own_method: str,
    rival: str,
    by: float,
    text: str,
    *,
    main: bool = True,
    by_paper: bool = True,
    floor: float = 0.0,
) -> Claim:
    """That one method is so many points ahead of another, or, for a negative number, at most so many behind.

    `floor` is the percentage of one constant answer: a rival below it counts as that.
    """
    ours, other = found.accuracy(setting, own_method).mean, found.accuracy(setting, rival).mean
    seen = f"{own_method} {ours:.1f} %, {rival} {other:.1f} %"
    if rival != BASELINE and is_one_model(found, setting, own_method):
        alone = f"{seen}; {own_method} has one model for everybody, like {BASELINE}, and no groups"
        return Claim(text, False, alone, main, by_paper)
    if other < floor:
        seen += f", the same answer to everything {floor:.1f} %"
    return Claim(text, ours - max(other, floor) >= by, seen, main, by_paper)


def is_one_model(found: ItemRuns, setting: str, label: str) -> bool:
    """Whether a method has all clients in one group, with every seed: that is FedAvg."""
    return all(run.result().get("group_count") == 1 for run in found.runs(setting, label))


def variance_claim(found: ItemRuns, setting: str, own_method: str, rival: str, text: str) -> Claim:
    """That accuracy varies less over clients with one method than with another."""
    ours, other = (found.metric(setting, label, "accuracy_variance").mean for label in (own_method, rival))
    return Claim(text, ours < other, f"{own_method} {ours:.1f}, {rival} {other:.1f}", main=False)


def ari_claim(
    found: ItemRuns, setting: str, label: str, least: float, text: str, *, main: bool = True, by_paper: bool = True
) -> Claim:
    """That a method ends with the planted groups, or nearly."""
    seen = found.metric(setting, label, "ari")
    count = found.metric(setting, label, "group_count")
    return Claim(text, seen.mean >= least, f"ARI {seen.mean:.3f}, {count.mean:.0f} models", main, by_paper)
