"""Columns that give the label away: with one of these a net has nothing to learn, and will be wrong tomorrow."""

import numpy as np
from numpy.typing import NDArray

from fedclade.preparation.quantiles import Sketch

MAX_LEAK_CLASSES = 100  # with more, nothing is looked for
MIN_PURE = 0.999  # of the rows whose value tells their label
MAX_BASELINE = 0.99  # of the rows that have the most frequent label: with more, every column is nearly pure
MAX_REST = 0.05  # of the rows, with names that are not known
MIN_LEAK_ROWS = 20  # with fewer, a column tells the label by chance
INTERVALS = 64  # of a column of numbers


def emptiness_tells(empty: NDArray[np.int64], filled: NDArray[np.int64]) -> bool:
    """Whether it is known of each label if a cell is empty; both are (labels,) counts of cells."""
    return is_pure(np.stack([empty, filled]))


def names_tell(table: NDArray[np.int64]) -> bool:
    """Whether each category has one label; `table` is (names + 1, labels), the last row for all other names."""
    named, rest = table[:-1], int(table[-1].sum())
    return len(named) >= 2 and rest <= MAX_REST * table.sum() and is_pure(named)


def intervals_tell(table: NDArray[np.int64]) -> bool:
    """Whether labels lie one beside the other on the line of numbers, hardly more pieces than there are labels.

    Where one label ends and the next begins, a small interval may have both.
    """
    used = table[table.sum(axis=1) > 0]
    labels = int((used.sum(axis=0) > 0).sum())
    rows, impure = used.sum(axis=1), used.sum(axis=1) - used.max(axis=1)
    borders = np.argsort(-impure, kind="stable")[: min(labels - 1, len(used) // 8)]
    borders = borders[rows[borders] <= 2 * rows.sum() / INTERVALS]
    clear = np.delete(used, borders, axis=0)
    if len(used) < 2 or not is_pure(clear):
        return False
    pieces = 1 + int((np.diff(clear.argmax(axis=1)) != 0).sum())
    return pieces <= 2 * labels


def is_pure(table: NDArray[np.int64]) -> bool:
    """Whether nearly all rows have the label that is usual for their value, and labels differ at all."""
    total = int(table.sum())
    baseline = int(table.sum(axis=0).max())
    enough = total >= MIN_LEAK_ROWS and baseline <= MAX_BASELINE * total
    return enough and int(table.max(axis=1).sum()) >= MIN_PURE * total


def quantile_edges(sketch: Sketch) -> list[float]:
    """Thresholds between which about as many values lie each."""
    first = sketch.tail_share(0.0)
    shares = np.arange(1, INTERVALS) / INTERVALS
    return sorted({sketch.quantile(share) for share in shares[(shares >= first) & (shares <= 1 - first)]})
