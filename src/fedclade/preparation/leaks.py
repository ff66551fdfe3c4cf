"""Columns that give the label away: with one of these a net has nothing to learn, and will be wrong tomorrow."""

import numpy as np
from numpy.typing import NDArray

from fedclade.preparation.quantiles import Sketch

MAX_LEAK_CLASSES = 100  # with more, nothing is looked for
MAX_WRONG = 0.001  # of the rows whose value tells their label ...
MAX_WRONG_RARE = 0.05  # ... and of those that have not the most frequent label, which may be few
MIN_RARE_ROWS = 10  # that have not the most frequent label: fewer can be told by chance
MAX_REST = 0.05  # of the rows, with names that are not known
MIN_LEAK_ROWS = 20  # with fewer, a column tells the label by chance
INTERVALS = 64  # of a column of numbers
MAX_VALUES = 200  # of a column of numbers that holds codes: each is looked at alone
MIN_VALUE_ROWS = 10.0  # rows of a value in the mean: values of fewer rows tell labels by chance


def emptiness_tells(empty: NDArray[np.int64], filled: NDArray[np.int64]) -> bool:
    """Whether it is known of each label if a cell is empty; both are (labels,) counts of cells."""
    return is_pure(np.stack([empty, filled]))


def names_tell(table: NDArray[np.int64]) -> bool:
    """Whether each category has one label; `table` is (names + 1, labels), the last row for all other names.

    These may have one label too; where they are few, it does not matter.
    """
    named, rest = table[:-1], int(table[-1].sum())
    few = len(named) >= 2 and rest <= MAX_REST * table.sum()
    return (few and is_pure(named)) or (len(named) >= 1 and is_pure(table))


def numbers_tell(table: NDArray[np.int64]) -> bool:
    """Whether numbers tell the label; `table` is (intervals, labels) in their order.

    Either each of a few values has one label, whatever the order; or labels lie one beside the other on the line of
    numbers.
    """
    used = table[table.sum(axis=1) > 0]
    if len(used) < 2:
        return False
    return (used.sum() >= MIN_VALUE_ROWS * len(used) and is_pure(used)) or intervals_tell(used)


def intervals_tell(used: NDArray[np.int64]) -> bool:
    """Whether labels lie one beside the other, hardly more pieces than there are labels.

    Where one label ends and the next begins, a small interval may have both.
    """
    labels = int((used.sum(axis=0) > 0).sum())
    rows, impure = used.sum(axis=1), used.sum(axis=1) - used.max(axis=1)
    borders = np.argsort(-impure, kind="stable")[: min(labels - 1, len(used) // 8)]
    borders = borders[rows[borders] <= 2 * rows.sum() / INTERVALS]
    clear = np.delete(used, borders, axis=0)
    if not is_pure(clear):
        return False
    pieces = 1 + int((np.diff(clear.argmax(axis=1)) != 0).sum())
    return pieces <= 2 * labels


def is_pure(table: NDArray[np.int64]) -> bool:
    """Whether nearly all rows have the label that is usual for their value, and labels differ at all."""
    total = int(table.sum())
    rare = total - int(table.sum(axis=0).max())
    wrong = total - int(table.max(axis=1).sum())
    return total >= MIN_LEAK_ROWS and rare >= MIN_RARE_ROWS and wrong <= min(MAX_WRONG * total, MAX_WRONG_RARE * rare)


def leak_edges(sketch: Sketch | None, low: float, high: float) -> list[float]:
    """Thresholds between which labels are looked for.

    Between all values, where there are a few; halves, where a column has no sketch; else as many values lie between two
    of them, and fewer at both ends, where a rare label may be.
    """
    if sketch is None:
        found: list[float] = np.arange(low + 0.5, high).tolist()
        return found
    single = sketch.ends_of_values()
    if len(single) and len(single) <= MAX_VALUES:
        return single
    first = sketch.tail_share(0.0)
    tails = 0.5 ** np.arange(7, 30)
    shares = np.concatenate([np.arange(1, INTERVALS) / INTERVALS, tails, 1 - tails])
    return sorted({sketch.edge(share) for share in shares[(shares >= first) & (shares <= 1 - first)].tolist()})
