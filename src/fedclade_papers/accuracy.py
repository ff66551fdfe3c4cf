"""Lines and claims of tables that print an accuracy and its variance for each method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

from fedclade_papers.item import Claim, Outcome, ResultLine
from fedclade_papers.run_results import ItemRuns, SeedStatistics, seed_statistics
from fedclade_papers.training_accuracy import on_training_examples
from fedclade_papers.verdicts import EQUAL_POINTS, TOLERANCE_POINTS

Printed = Mapping[str, tuple[float, float]]
"""Accuracy in percent and its variance over clients, by method."""
BASELINE = "FedAvg"
GROUPLESS = (BASELINE, "Local")  # they have no groups to compare with the planted ones
OTHER_DATA = ("mnist-writers",)  # where the paper has another task


@dataclass(frozen=True)
class PrintedTable:
    """What a table prints, and what the paper says of it."""

    own_method: str
    """The paper's own method."""
    names: Mapping[str, str]
    """How its parts are called, data sets or nets."""
    printed: Mapping[str, Printed]
    claims: Callable[[ItemRuns, str, str], tuple[Claim, ...]]
    """Of one part: its runs, the setting, and its name."""
    constant: float = 0.0
    """Percent that the same answer to everything would get."""


def accuracy_lines(
    found: ItemRuns,
    setting: str,
    printed: Printed,
    own_method: str,
    *,
    what: str = "",
    train: bool = False,
    constant: float = 0,
) -> tuple[ResultLine, ...]:
    """Accuracy and variance of every method that was run, beside what is printed.

    Methods are compared with `own_method`, the paper's own one, and that with FedAvg. A method that is no better than
    a `constant` answer on test examples does not count; with other data than the paper's only directions do.
    """
    prefix = "train " if train else ""
    points = 0.0 if found.setting(setting).data["source"] in OTHER_DATA else TOLERANCE_POINTS
    seen = {label: accuracy_and_variance(found, setting, label, train=train) for label in found.labels(setting)}
    lines: list[ResultLine] = []
    for place, name in enumerate(("accuracy", "variance")):
        for label, values in seen.items():
            printed_value = printed[label][place] if label in printed else None
            rival = BASELINE if label.startswith("FLT") else own_method
            other = (
                (printed[rival][place], seen[rival][place].mean)
                if printed_value is not None and rival in printed
                else None
            )
            lines.append(
                ResultLine(
                    row=label,
                    column=f"{what}{prefix}{name}",
                    printed=printed_value,
                    ours=values[place].mean,
                    deviation=values[place].deviation,
                    tolerance=points if name == "accuracy" else variance_tolerance(printed_value, values[place].mean),
                    compared_with=other,
                    equal_within=EQUAL_POINTS,
                    is_excluded=name == "variance" or is_no_better(found.accuracy(setting, label), constant),
                )
            )
    missing = [label for label in printed if label not in seen and not train]
    lines += [
        ResultLine(row=label, column=f"{what}accuracy", printed=printed[label][0], ours=None) for label in missing
    ]
    return tuple(lines)


def table_of(
    found: ItemRuns, scenario: int, table: PrintedTable, *, trained: Mapping[str, Printed] | None = None
) -> Outcome:
    """Every part of a table that was asked for, and the accuracy on training examples if that is printed too."""
    here = {part: f"s{scenario}-{part}" for part in table.printed if found.has(f"s{scenario}-{part}")}
    read = partial(accuracy_lines, found, own_method=table.own_method, constant=table.constant)
    lines = [
        *(
            read(setting, trained[part], what=table.names[part], train=True)
            for part, setting in here.items()
            if trained is not None
        ),
        *(read(setting, table.printed[part], what=table.names[part]) for part, setting in here.items()),
        *(ari_lines(found, setting, table.names[part]) for part, setting in here.items() if trained is None),
    ]
    said = [table.claims(found, setting, table.names[part]) for part, setting in here.items()]
    notes = [note for part, setting in here.items() if (note := constant_answer_note(found, setting, table, part))]
    return Outcome(tuple(chain(*lines)), tuple(chain(*said)), notes=tuple(notes))


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
        f"everything ({table.constant:.1f} %). They have learned nothing in these rounds, their lines do not count, "
        "and how far somebody is ahead of them is counted from that answer."
    )


def accuracy_and_variance(
    found: ItemRuns, setting: str, label: str, *, train: bool
) -> tuple[SeedStatistics, SeedStatistics]:
    """Accuracy and variance of a method, on test or training examples."""
    if train:
        return on_training_examples(found, setting, label)
    return found.accuracy(setting, label), found.metric(setting, label, "accuracy_variance")


def variance_tolerance(printed: float | None, ours: float) -> float:
    """The tolerance by which a variance is reproduced from half to twice the printed one."""
    if printed is None:
        return 0.0
    return printed if ours > printed else printed / 2


def ahead_claim(
    found: ItemRuns,
    setting: str,
    own_method: str,
    rival: str,
    by: float,
    text: str,
    *,
    main: bool = True,
    floor: float = 0.0,
) -> Claim:
    """That one method is so many points ahead of another, or, for a negative number, at most so many behind.

    `floor` is the percentage of one constant answer: a rival below it counts as that.
    """
    ours, other = found.accuracy(setting, own_method).mean, found.accuracy(setting, rival).mean
    seen = f"{own_method} {ours:.1f} %, {rival} {other:.1f} %"
    if rival != BASELINE and is_one_model(found, setting, own_method):
        return Claim(
            text, False, f"{seen}; {own_method} has one model for everybody, like {BASELINE}, and no groups", main
        )
    if other < floor:
        seen += f", the same answer to everything {floor:.1f} %"
    return Claim(text, ours - max(other, floor) >= by, seen, main)


def is_one_model(found: ItemRuns, setting: str, label: str) -> bool:
    """Whether a method has all clients in one group, with every seed: that is FedAvg."""
    return all(run.result().get("group_count") == 1 for run in found.runs(setting, label))


def variance_claim(found: ItemRuns, setting: str, own_method: str, rival: str, text: str) -> Claim:
    """That accuracy varies less over clients with one method than with another."""
    ours, other = (found.metric(setting, label, "accuracy_variance").mean for label in (own_method, rival))
    return Claim(text, ours < other, f"{own_method} {ours:.1f}, {rival} {other:.1f}", main=False)


def ari_claim(found: ItemRuns, setting: str, label: str, least: float, text: str, *, main: bool = True) -> Claim:
    """That a method ends with the planted groups, or nearly."""
    seen = found.metric(setting, label, "ari")
    count = found.metric(setting, label, "group_count")
    return Claim(text, seen.mean >= least, f"ARI {seen.mean:.3f}, {count.mean:.0f} models", main)
