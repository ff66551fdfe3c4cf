"""What a client tells of its columns, so that a preparation can be fitted: flags, counts and sums.

A category's name is told where at least `MIN_NAME_ROWS` of the client's rows have it. Numbers are told as counts below
thresholds that the server chose, and as sums of values that are cut off at bounds that the server chose: a single
value far out is in none of them. The sum of a client with a single row is that row's number, within the bounds.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core.column_names import MAX_TEXT
from fedclade.core.preparation import EMPTY_CELL
from fedclade.data.cell_dates import is_date
from fedclade.data.cell_numbers import float_or_nan, have_unit
from fedclade.data.prepared import words_of
from fedclade.data.raw_table import RawColumn, decode, own_texts, read_texts, text_column

MIN_NAME_ROWS = 5  # rows of a client that have a name, before the client tells the name
FIRST_YEAR, LAST_YEAR = 1900, 2100  # whole numbers between these may be years
MAX_FREQUENT = 1000  # names of one column that a client tells at the most
NEARLY_ALL = 0.95  # of the steps from row to row: an index may have been mended by hand
MIN_ORDERED = 3  # values that rise or fall: two always do


@dataclass(frozen=True)
class ColumnFlags:
    """What a client says of one column."""

    kind: str
    filled: int
    """Cells that are not empty."""
    different: int
    """How many different values it has."""
    is_unique: bool
    is_monotone: bool
    """Whole numbers or dates in most cells, nearly all larger than the one before, or smaller, and hardly any twice."""
    is_whole: bool
    has_years: bool
    """Whole numbers that can all be years."""
    words: float
    """Of a cell with text, in the mean."""
    day_first: bool = False
    """Dates that are read with the day first, and would be others, or none, with the month first ..."""
    month_first: bool = False
    """... and the reverse. Both: nothing here shows which is meant."""


NUMBER_CODE = re.compile(r"[+-]?0[0-9].*")  # a code that looks like a number, such as 01
MIN_MIXED = 0.5  # of the cells with text: so many numbers, or dates, and it is said that there are some


def column_flags(column: RawColumn) -> ColumnFlags:
    """The flags of one column.

    A column may be text because of cells of other clients: this client says what it would say of its own cells alone.
    """
    kind: str = column.kind
    words = 0.0
    if column.kind == "text":
        column = read_texts(own_texts(column))
        kind = column.kind
        if column.kind == "text":
            kind = text_kind(column)
            lengths = np.array([len(text.split()) for text in column.texts], np.float64)
            words = float(lengths[column.codes()[~column.empty]].mean())
    values = column.values[~column.empty]
    filled = len(values)
    different = len(np.unique(values))
    if kind == "numbers and text":
        values = decode(column, np.array([float_or_nan(text) for text in column.texts]))
        values = values[~np.isnan(values)]
    whole = kind in ("number", "numbers and text") and bool((values == np.floor(values)).all())
    return ColumnFlags(
        kind=kind if filled or kind == "unusable" else "empty",
        filled=filled,
        different=different,
        is_unique=2 * filled >= len(column.values) and different == filled,
        is_monotone=(whole or kind == "date") and is_monotone(values) and 2 * len(values) >= len(column.values),
        is_whole=whole,
        has_years=whole and bool(((values >= FIRST_YEAR) & (values <= LAST_YEAR)).all()),
        words=words,
        day_first=column.kind == "date" and (column.order == "day" or column.month_first is not None),
        month_first=column.kind == "date" and (column.order == "month" or column.month_first is not None),
    )


def is_monotone(values: NDArray[np.float64]) -> bool:
    """Whether nearly all values are larger than the one before, or smaller, hardly one is there twice, and they are
    enough to say so.
    """
    steps = np.diff(values)
    if len(values) < MIN_ORDERED or len(np.unique(values)) < NEARLY_ALL * len(values):
        return False
    return bool(max((steps > 0).mean(), (steps < 0).mean()) >= NEARLY_ALL)


def text_kind(column: RawColumn) -> str:
    """What a column of text holds, by how its cells are written, which are not all numbers, or all dates."""
    rows = np.bincount(column.codes()[~column.empty])
    numbers = np.array([not np.isnan(float_or_nan(text)) for text in column.texts])
    dates = np.array([is_date(text) for text in column.texts])
    if any(NUMBER_CODE.fullmatch(text) for text, date in zip(column.texts, dates, strict=True) if not date):
        return "text"
    if have_unit(column.texts):
        return "numbers with a unit"
    if rows[numbers].sum() >= MIN_MIXED * rows.sum():
        return "numbers and text"
    return "dates and text" if rows[dates].sum() >= MIN_MIXED * rows.sum() else "text"


def count_below(
    values: NDArray[np.float64], thresholds: Sequence[float], labels: NDArray[np.int64], classes: int
) -> NDArray[np.int64]:
    """(thresholds + 1, classes): values that lie above the threshold before and not above this one, by label.

    The last row counts those above all thresholds.
    """
    there = ~np.isnan(values)
    places = np.searchsorted(np.asarray(thresholds, np.float64), values[there], side="left")
    counts = np.zeros((len(thresholds) + 1, classes), np.int64)
    np.add.at(counts, (places, labels[there]), 1)
    return counts


def clipped_sums(values: NDArray[np.float64], low: float, high: float, centre: float) -> tuple[int, float, float]:
    """Count, sum and sum of squares of the values, cut off at the bounds, less the centre."""
    near = np.clip(values[~np.isnan(values)], low, high) - centre
    return len(near), float(near.sum()), float((near**2).sum())


def count_known(column: RawColumn, names: Sequence[str], labels: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """(names + 1, classes): rows with each of these names, and with another one, by label.

    `EMPTY_CELL` among the names stands for empty cells.
    """
    known = {name: place for place, name in enumerate(names)}
    empty = known.get(EMPTY_CELL, -1)
    if set(known) <= {EMPTY_CELL}:
        places = np.where(column.empty, empty, len(names))
    else:
        texts = own_texts(text_column(column))
        places = np.array([*(known.get(text, len(names)) for text in texts.texts), empty], np.int64)[texts.codes()]
    counts = np.zeros((len(names) + 1, classes), np.int64)
    np.add.at(counts, (places[places >= 0], labels[places >= 0]), 1)
    return counts


def frequent_names(column: RawColumn, *, words: bool) -> dict[str, int]:
    """The categories, or words, that at least `MIN_NAME_ROWS` rows have, the most frequent first, with their rows."""
    texts = own_texts(text_column(column))
    rows = np.bincount(texts.codes() + 1, minlength=len(texts.texts) + 1)[1:]
    found = Counter[str]()
    for text, count in zip(texts.texts, rows.tolist(), strict=True):
        for name in set(words_of(text)) if words else (text,):
            if len(name) <= MAX_TEXT:
                found[name] += count
    frequent = sorted((-count, name) for name, count in found.items() if count >= MIN_NAME_ROWS)
    return {name: -count for count, name in frequent[:MAX_FREQUENT]}
