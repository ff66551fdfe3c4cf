"""What a preparation must know of the label: the scale of a regression, and at sites which task a label makes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fedclade.core import ClientId, InputError, Round
from fedclade.core.preparation import Numbers, sort_labels
from fedclade.core.task import LABEL_BINS, Task, TaskKind
from fedclade.fleet import Fleet
from fedclade.fleet.results import ClientTable
from fedclade.preparation.quantiles import sketch_numbers

MAX_LABELS = 1000  # classes that clients may tell together
MAX_FEW = 20  # different numbers of a client: with more, a label of numbers is no classification
MIN_ROWS = 10  # cells of a client: in fewer, what repeats elsewhere may be there once
MAX_SHOWN = 10  # names that a message shows


def fit_scale(
    fleet: Fleet, clients: Sequence[ClientId], task: Task, label: str, is_whole: bool, now: Round, where: str
) -> Task:
    """The task of a regression with the scale of its labels: their mean and deviation, and intervals with quantiles.

    Labels far out count in mean and deviation as if they were nearer, as columns do; they are not cut off themselves.
    """
    numbers = Numbers(label)
    (sketch,) = sketch_numbers(fleet, clients, [numbers], [is_whole], now)
    middle = sketch.quantile(0.5)
    share = sketch.tail_share(0.01)
    first, last = sketch.quantile(share), sketch.quantile(1 - share)
    low, high = first - (last - first), last + (last - first)
    if not low < high:
        low, high = sketch.outer()
    sums = fleet.column_sums(clients, [(numbers, min(low, first), max(high, last), middle)], now)
    count = max(int(sums.counts[0]), 1)
    offset = float(sums.sums[0]) / count
    deviation = float(np.sqrt(max(float(sums.squares[0]) / count - offset**2, 0.0)))
    if not deviation > 0:
        got, need = f"{middle:g} in nearly every row", "numbers that differ"
        raise InputError(f"label {label!r} does not vary", where=where, got=got, need=need, do="name another label")
    shares = np.arange(1, LABEL_BINS) / LABEL_BINS
    least = sketch.quantile(0.0)  # an interval below it would be empty
    places = sorted({each for each in map(sketch.quantile, shares.tolist()) if each > least})
    edges = [(each - middle - offset) / deviation for each in places]
    return replace(task, centre=middle + offset, scale=deviation, edges=tuple(edges))


def told_task(tables: Mapping[ClientId, ClientTable], task: Task, given: Sequence[str], label: str, where: str) -> Task:
    """The task with the classes that are given, or that clients have told, in order."""
    names = given or sort_labels({name for table in tables.values() for name in table.class_names})
    if not given and not 2 <= len(names) <= MAX_LABELS:
        got, need = f"{len(names)}: {', '.join(names[:MAX_SHOWN])}", f"2 to {MAX_LABELS}"
        do = "is this the right column? or give all classes: classes = [...]"
        few = "few" if len(names) < 2 else "many"
        raise InputError(f"column {label!r} has too {few} classes", where=where, got=got, need=need, do=do)
    return replace(task, count=len(names), names=tuple(names))


def decide_task(tables: Mapping[ClientId, ClientTable], label: str, where: str) -> TaskKind:
    """Which task a label makes, by what sites say of its column. An error where that is not clear.

    No value is asked for: whether a label is a class, whose names are told, must be known first.
    """
    facts = [table.columns[label] for table in tables.values() if label in table.columns]
    facts = [fact for fact in facts if fact.filled]
    if not facts and "," in label:
        return "multi-label"
    if not facts:
        need = "a column with labels"
        raise InputError(f"no site has labels in column {label!r}", where=where, got="empty cells", need=need)
    if any(fact.kind != "number" for fact in facts):
        return "classification"
    most = max(fact.different for fact in facts)
    whole = all(fact.is_whole for fact in facts)
    if most > MAX_FEW and not whole:
        return "regression"
    repeats = all(2 * fact.different <= fact.filled for fact in facts if fact.filled >= MIN_ROWS)
    if most <= MAX_FEW and (whole or repeats):
        return "classification"
    numbers = "whole numbers" if whole else "numbers with a fraction"
    got = f"{numbers}, up to {most} different ones at a site"
    do = 'say task = "classification" or task = "regression" in [data]'
    raise InputError(f"it is not clear what label {label!r} is", where=where, got=got, need="the task", do=do)
