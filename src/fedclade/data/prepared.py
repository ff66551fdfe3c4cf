"""Rows of a table as inputs, by a preparation. A row's inputs depend on that row alone."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.core.preparation import (
    CategoryInput,
    ColumnKind,
    DateOrder,
    DatePart,
    MissingInput,
    NumberInput,
    Preparation,
    TableInput,
    WordInput,
)
from fedclade.data.cell_dates import DAY_SECONDS
from fedclade.data.examples import Part, Pool
from fedclade.data.federation import ClientData, Federation
from fedclade.data.raw_table import RawColumn, RawTable, numbers_of_texts, own_texts, text_column

MAX_WORD_LENGTH = 40  # characters


def apply_preparation(preparation: Preparation, table: RawTable) -> NDArray[np.float32]:
    """(rows, inputs) float32. A column that is not there is empty in every row."""
    inputs = np.empty((len(table), preparation.width), np.float32)
    start = 0
    for each in preparation.inputs:
        column = table.columns.get(each.column, RawColumn("empty", np.full(len(table), np.nan)))
        width = len(each.names())
        inputs[:, start : start + width] = columns_of(each, column)
        start += width
    return inputs


def prepare_federation(federation: Federation, preparation: Preparation) -> Federation:
    """The same clients, whose rows are inputs now."""
    prepare = remember_pools(prepare_pool)

    def prepare_all(data: Mapping[ClientId, ClientData]) -> dict[ClientId, ClientData]:
        return {client: prepare_client(held, preparation, prepare) for client, held in data.items()}

    task = preparation.task
    return replace(
        federation,
        task=task if task.labels == "number" else federation.task,
        classes=task.label_kinds if task.labels == "number" else federation.classes,
        data=prepare_all(federation.data),
        changes=tuple(replace(change, data=prepare_all(change.data)) for change in federation.changes),
        unprepared=None,
        preparation=preparation,
        notes=(*federation.notes, *preparation.notes()),
    )


PreparePool: TypeAlias = Callable[[Pool, Preparation], tuple[Pool, NDArray[np.bool_]]]
"""A pool whose rows are inputs now, and which of them have a label that is known."""


def remember_pools(prepare: PreparePool) -> PreparePool:
    """The same, made once for each pool."""
    known: dict[int, tuple[Pool, NDArray[np.bool_]]] = {}

    def remember(pool: Pool, preparation: Preparation) -> tuple[Pool, NDArray[np.bool_]]:
        if id(pool) not in known:
            known[id(pool)] = prepare(pool, preparation)
        return known[id(pool)]

    return remember


def prepare_client(data: ClientData, preparation: Preparation, prepare: PreparePool | None = None) -> ClientData:
    """A client's rows as inputs, its labels as the preparation numbers them; rows with other labels are left out."""

    def prepare_part(part: Part) -> Part:
        pool, usable = (prepare or prepare_pool)(part.pool, preparation)
        return replace(part, pool=pool, index=part.index[usable[part.index]])

    return ClientData(prepare_part(data.train), prepare_part(data.test))


def prepare_pool(pool: Pool, preparation: Preparation) -> tuple[Pool, NDArray[np.bool_]]:
    """A pool whose rows are inputs now, and which of them have a label that is known."""
    if pool.table is None:
        raise InputError("the examples are no table", got="arrays", need="rows with columns")
    inputs = apply_preparation(preparation, pool.table)
    if preparation.task.labels == "number":
        numbers = label_numbers(preparation, pool.table)
        return replace(pool, inputs=inputs, labels=np.nan_to_num(numbers)), ~np.isnan(numbers)
    if not preparation.class_names:
        return replace(pool, inputs=inputs), np.ones(len(inputs), bool)
    places = {name: place for place, name in enumerate(preparation.class_names)}
    codes = np.array([places.get(name, -1) for name in pool.class_names], np.int64)[pool.labels]
    labels = np.maximum(codes, 0)
    return replace(pool, inputs=inputs, labels=labels, class_names=preparation.class_names), codes >= 0


def label_numbers(preparation: Preparation, table: RawTable) -> NDArray[np.float32]:
    """(rows,) the labels of a regression on their scale; NaN where there is none."""
    column = table.columns.get(preparation.label, RawColumn("empty", np.full(len(table), np.nan)))
    task = preparation.task
    return ((numbers_of(column, "number", "") - task.centre) / task.scale).astype(np.float32)


def columns_of(wanted: TableInput, column: RawColumn) -> NDArray[np.float64] | NDArray[np.bool_]:
    """(rows, inputs) from one column."""
    if isinstance(wanted, NumberInput):
        values = numbers_of(column, wanted.of, wanted.part, wanted.order)
        values = np.where(np.isnan(values), wanted.fill, np.clip(values, wanted.low, wanted.high))
        return ((values - wanted.centre) / wanted.scale)[:, None]
    if isinstance(wanted, MissingInput):
        return column.empty[:, None]
    texts = text_column(column)
    if isinstance(wanted, CategoryInput):
        return category_columns(wanted, texts)
    return word_columns(wanted, texts)


def category_columns(wanted: CategoryInput, texts: RawColumn) -> NDArray[np.bool_]:
    """1 in the place of each row's category; an empty cell has none."""
    width = len(wanted.categories) + wanted.other
    places = {name: place for place, name in enumerate(wanted.categories)}
    rest = len(wanted.categories) if wanted.other else width
    place = np.array([*(places.get(text, rest) for text in texts.texts), width], np.int64)[texts.codes()]
    return np.eye(width + 1, width, dtype=bool)[place]


def word_columns(wanted: WordInput, texts: RawColumn) -> NDArray[np.bool_]:
    """1 for each word that a row's text has."""
    places = {word: place for place, word in enumerate(wanted.words)}
    known = np.zeros((len(texts.texts) + 1, len(places)), bool)
    for row, text in enumerate(texts.texts):
        known[row, [places[word] for word in set(words_of(text)) if word in places]] = True
    return known[texts.codes()]


def words_of(text: str) -> Iterator[str]:
    """The words of a text: runs of letters and digits, in small letters."""
    word = ""
    for sign in text.lower() + " ":
        if sign.isalnum():
            word += sign
        elif word:
            yield word[:MAX_WORD_LENGTH]
            word = ""


def numbers_of(column: RawColumn, of: ColumnKind, part: DatePart, order: DateOrder = "") -> NDArray[np.float64]:
    """The numbers of a column that holds numbers, truth values or dates elsewhere; what is none counts as empty."""
    if column.kind == "text":
        own = own_texts(column)
        values = own.dates(order) if of == "date" else numbers_of_texts(own)
    elif column.kind == of == "date":
        values = column.dates(order)
    else:
        fits = column.kind == of or {column.kind, of} <= {"number", "boolean"}
        values = column.values if fits else np.full(len(column.values), np.nan)
    return PART_VALUES[part](values) if part else values


def year_fraction(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The year, with the part of it that is over: 2024.5 is about the first of July."""
    starts, ends = year_bounds(seconds)
    years = np.floor_divide(month_number(seconds), 12) + 1970
    fraction: NDArray[np.float64] = years + (seconds - starts) / (ends - starts)
    return fraction


def month_number(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Months since January 1970; NaN where there is no date."""
    found = np.full(len(seconds), np.nan)
    there = ~np.isnan(seconds)
    found[there] = as_times(seconds[there]).astype("datetime64[M]").astype(np.int64)
    return found


def year_bounds(seconds: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When each date's year began, and when it ended, as seconds since 1970."""
    starts, ends = np.full((2, len(seconds)), np.nan)
    there = ~np.isnan(seconds)
    years = as_times(seconds[there]).astype("datetime64[Y]")
    starts[there] = years.astype("datetime64[s]").astype(np.int64)
    ends[there] = (years + 1).astype("datetime64[s]").astype(np.int64)
    return starts, ends


def as_times(seconds: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Seconds as numpy has times, within the years 1 to 9999."""
    least, most = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1, 9999))
    return np.floor(np.clip(seconds, least, most)).astype(np.int64).astype("datetime64[s]")


PART_VALUES: dict[DatePart, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "year": year_fraction,
    "month": lambda seconds: month_number(seconds) % 12 + 1,
    "weekday": lambda seconds: np.floor(seconds / DAY_SECONDS + 3) % 7,  # 1970 began on a Thursday; Monday is 0
    "hour": lambda seconds: np.floor(seconds % DAY_SECONDS / 3600),
}
