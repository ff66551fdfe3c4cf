"""The inputs that columns become, from sums and counts over all clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedclade.core.preparation import LARGEST, CategoryInput, NumberInput, TableInput, WordInput
from fedclade.fleet.results import ColumnSums
from fedclade.preparation.bounds import BoundedNumbers

MAX_CATEGORIES = 32  # inputs of one column; further names are "other"
MAX_WORDS = 100  # inputs of one column of text
MIN_INPUT_ROWS = 5  # rows of all clients that an input must tell apart
MAX_WORD_SHARE = 0.95  # of the rows: a word that nearly all have tells nothing
MAX_RAW = 100.0  # size of raw numbers, with room: usual step sizes can train on smaller ones
MAX_SHOWN = 5  # columns that a note names
ROUNDING = 1e-12  # of itself: a column that differs by less differs by rounding


@dataclass(frozen=True)
class CategoryCounts:
    """How many rows of all clients have which category of a column."""

    column: str
    rows: Mapping[str, int]
    rest: int
    """Rows with names that are not known."""


def number_inputs(numbers: Sequence[BoundedNumbers], sums: ColumnSums, *, raw: bool) -> dict[str, list[TableInput]]:
    """The inputs of the columns of numbers, truth values and dates."""
    made = dict[str, list[TableInput]]()
    for each, count, total, square in zip(numbers, sums.counts, sums.sums, sums.squares, strict=True):
        found = number_input(each, int(count), float(total), float(square), raw=raw)
        if found is not None:
            made.setdefault(each.numbers.column, []).append(found)
    return made


def number_input(each: BoundedNumbers, count: int, total: float, square: float, *, raw: bool) -> NumberInput | None:
    """The input of some numbers; none if they are the same everywhere."""
    if not count:
        return None
    offset = total / count
    mean = each.middle + offset
    deviation = float(np.sqrt(max(square / count - offset**2, 0.0)))
    if deviation <= ROUNDING * max(abs(mean), 1e-280):
        return None
    numbers = each.numbers
    fill = each.middle if each.sketch is not None else mean
    if raw:
        return NumberInput(
            column=numbers.column,
            of=numbers.of,
            part=numbers.part,
            order=numbers.order,
            low=-LARGEST,
            high=LARGEST,
            fill=fill,
        )
    return NumberInput(
        column=numbers.column,
        of=numbers.of,
        part=numbers.part,
        order=numbers.order,
        low=each.low,
        high=each.high,
        fill=fill,
        centre=mean,
        scale=deviation,
    )


def raw_notes(numbers: Sequence[BoundedNumbers]) -> list[str]:
    """A note, where numbers that stay raw are so large that training may not get anywhere."""
    large = [each for each in numbers if max(abs(each.low), abs(each.high)) > MAX_RAW]
    if not large:
        return []
    columns = list(dict.fromkeys(each.numbers.column for each in large))
    shown = ", ".join(map(repr, columns[:MAX_SHOWN])) + (", ..." if len(columns) > MAX_SHOWN else "")
    return [
        f"numbers stay raw (--prepare none), and those of {shown} are large: no step size is known to train well on "
        "them; standardise them (--prepare standard), or look for one: --set local.lr=0.0001"
    ]


def category_inputs(counts: CategoryCounts) -> list[TableInput]:
    """The most frequent names, and all others together; nothing if there is one name only."""
    kept = usual_names(counts.rows, MAX_CATEGORIES)
    other = counts.rest + sum(counts.rows.values()) - sum(counts.rows[name] for name in kept) >= MIN_INPUT_ROWS
    if len(kept) + other < 2:
        return []
    return [CategoryInput(column=counts.column, categories=tuple(sorted(kept)), other=other)]


def word_inputs(column: str, rows: Mapping[str, int], filled: int) -> list[TableInput]:
    """The most frequent words that not nearly every text has."""
    usual = {word: count for word, count in rows.items() if count <= MAX_WORD_SHARE * filled}
    kept = usual_names(usual, MAX_WORDS)
    return [WordInput(column=column, words=tuple(sorted(kept)))] if kept else []


def usual_names(rows: Mapping[str, int], most: int) -> list[str]:
    """The most frequent names."""
    return sorted((name for name in rows if rows[name] >= MIN_INPUT_ROWS), key=lambda name: (-rows[name], name))[:most]
