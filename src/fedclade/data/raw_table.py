"""The rows of a table as they were written, column by column: before a preparation makes inputs of them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedclade.core.preparation import ColumnKind, DateOrder
from fedclade.data.cell_dates import date_text, is_date, read_dates, seconds
from fedclade.data.cell_numbers import as_floats, number_or_truth, number_text, texts_as_floats, texts_as_truth

LIST = re.compile(r"\s*\[(?:.*,.*|\s*(?:[-+]?[\d.]+(?:e[-+]?\d+)?(?:\s+|(?=\])))*)\]\s*", re.DOTALL | re.IGNORECASE)
DICT = re.compile(r"\s*\{(?:.*:.*|\s*)\}\s*", re.DOTALL)
RawKind: TypeAlias = ColumnKind | Literal["empty", "unusable"]


@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column. `values` has a number for each row, NaN where the cell is empty."""

    kind: RawKind
    values: NDArray[np.float64]
    """A number itself; 1 and 0 for true and false; seconds since 1970 for a date; for text its place in `texts`."""
    texts: tuple[str, ...] = ()
    """What text columns hold, each once."""
    fault: str = ""
    """Why a column is unusable."""
    order: DateOrder = ""
    """Of dates: what stands first in them; empty where this is the same, or not known."""
    month_first: NDArray[np.float64] | None = None
    """The values of dates with the month first, where this is possible too and not the same; `values` has them with
    the day first."""
    written: pa.ChunkedArray | None = None
    """The cells of a column that was text and became something else, where they are kept: at other clients it may be of
    categories, and then its names are those that were written."""

    def rows(self, index: NDArray[np.int64]) -> "RawColumn":
        written = None if self.written is None else self.written.take(pa.array(index))
        other = None if self.month_first is None else self.month_first[index]
        return replace(self, values=self.values[index], written=written, month_first=other)

    @property
    def empty(self) -> NDArray[np.bool_]:
        """(rows,)"""
        return np.isnan(self.values)

    def dates(self, order: DateOrder) -> NDArray[np.float64]:
        """(rows,) seconds since 1970, of dates or of text; NaN where a cell is none."""
        if self.kind == "text":
            return decode(self, read_dates(pa.array(self.texts, pa.string())).values(order))
        return self.month_first if order == "month" and self.month_first is not None else self.values

    def codes(self) -> NDArray[np.int64]:
        """(rows,) of a text column: places in `texts`, -1 for an empty cell."""
        return np.where(self.empty, -1, np.nan_to_num(self.values)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of one length."""

    columns: Mapping[str, RawColumn] = field(default_factory=dict)
    length: int = 0

    def rows(self, index: NDArray[np.int64]) -> "RawTable":
        """These rows alone."""
        return RawTable({name: column.rows(index) for name, column in self.columns.items()}, len(index))

    def __len__(self) -> int:
        return self.length


def read_raw_table(
    table: pa.Table,
    names: Collection[str],
    *,
    categorical: Collection[str] = (),
    numeric: Collection[str] = (),
    keep_text: bool = False,
) -> RawTable:
    """These columns of an arrow table; `keep_text` if it is the table of one client alone (see `RawColumn.written`)."""
    columns = {
        name: read_column(table.column(name), text=name in categorical, number=name in numeric, keep_text=keep_text)
        for name in names
    }
    return RawTable(columns, table.num_rows)


def read_column(
    column: pa.ChunkedArray, *, text: bool = False, number: bool = False, keep_text: bool = False
) -> RawColumn:
    """One column; text that is written like numbers, truth values or dates is read as such, unless it is to be text.

    Where numbers are wanted, a cell that is none counts as empty.
    """
    column = unwrap(column)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind):
        return RawColumn("empty", np.full(len(column), np.nan))
    if is_text(kind):
        found = read_text(column, text=text, number=number)
        keeps = keep_text and not number and found.kind not in ("text", "empty")
        return replace(found, written=column) if keeps else found
    timed = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)
    if not (is_number(kind) or pa.types.is_boolean(kind) or timed):
        return RawColumn("unusable", np.full(len(column), np.nan), fault=f"holds {kind_words(kind)}")
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if text and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return text_column(RawColumn("date", seconds(column)))
    if text:
        return encode_texts(as_text(column))
    if timed:
        values = seconds(column)
        return number_column(values) if pa.types.is_duration(kind) else RawColumn("date", values)
    values = as_floats(column)
    if pa.types.is_boolean(kind) and not number:
        return RawColumn("boolean", values)
    return number_column(values)


def unwrap(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without a type that only stands around another one."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    return pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column


def number_column(values: NDArray[np.float64]) -> RawColumn:
    """Numbers; infinite ones make the column unusable."""
    if np.isnan(values).all():
        return RawColumn("empty", values)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values))) + 1
        return RawColumn("unusable", np.full(len(values), np.nan), fault=f"is infinite in row {row}")
    return RawColumn("number", values)


def read_text(column: pa.ChunkedArray, *, text: bool, number: bool) -> RawColumn:
    """A column of text."""
    if not (text or pa.types.is_dictionary(column.type)) and (numbers := texts_as_floats(column)) is not None:
        return number_column(numbers)  # the usual case, without a list of all texts
    encoded = encode_texts(column)
    if not encoded.texts:
        return RawColumn("empty", encoded.values)
    if text:
        return encoded
    if number:
        values = numbers_of_texts(encoded)
        if np.isnan(values).all():
            return RawColumn("unusable", values, fault="holds no plain numbers, such as 12345.67 (--numeric)")
        return number_column(values)
    return read_texts(encoded)


def read_texts(encoded: RawColumn) -> RawColumn:
    """A column of text as what all its cells are written like: numbers, truth values, dates, or text."""
    if not encoded.texts:
        return RawColumn("empty", encoded.values)
    words = pa.array(encoded.texts, pa.string())
    if (numbers := texts_as_floats(words)) is not None:
        return number_column(decode(encoded, numbers))
    if (truth := texts_as_truth(encoded.texts)) is not None:
        return RawColumn("boolean", decode(encoded, truth))
    for form, what in ((LIST, "lists"), (DICT, "tables")):
        if all(map(form.fullmatch, encoded.texts)):
            return RawColumn("unusable", np.full(len(encoded.values), np.nan), fault=f"holds {what}")
    return date_column(encoded, words) or encoded


def date_column(encoded: RawColumn, words: pa.Array) -> RawColumn | None:
    """A column of text as dates; None unless all cells are, with the day first or with the month first."""
    if not is_date(encoded.texts[0]):
        return None
    try:  # the usual case, much faster
        return RawColumn("date", decode(encoded, seconds(pc.cast(words, pa.timestamp("us")))))
    except pa.ArrowInvalid:
        found = read_dates(words)
    day_first, month_first = (not np.isnan(each).any() for each in (found.day_first, found.month_first))
    if day_first and month_first:
        same = (found.day_first == found.month_first).all()
        other = None if same else decode(encoded, found.month_first)
        return RawColumn("date", decode(encoded, found.day_first), month_first=other)
    if day_first:
        return RawColumn("date", decode(encoded, found.day_first), order="day")
    return RawColumn("date", decode(encoded, found.month_first), order="month") if month_first else None


def numbers_of_texts(encoded: RawColumn) -> NDArray[np.float64]:
    """The number of each row of a column of text, also of truth values; NaN where there is none."""
    return decode(encoded, np.array([number_or_truth(each) for each in encoded.texts], np.float64))


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers, truth values and times of day as text: whole numbers without a point, however they are stored."""
    kind = column.type
    if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return pc.cast(column, pa.string())
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.decimal256(max(kind.precision, kind.scale), kind.scale))  # the small ones have no codes
    whole = column.dictionary_encode().combine_chunks()
    numbers = whole.dictionary.to_pylist() if pa.types.is_decimal(kind) else whole.dictionary.to_numpy()
    names = pa.array([number_text(value) for value in numbers], pa.string())
    return pa.chunked_array([names.take(whole.indices)])


def encode_texts(column: pa.ChunkedArray) -> RawColumn:
    """Text by its places in a list of those that are there; a blank text is an empty cell."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    texts: list[str | None] = whole.dictionary.cast(pa.large_string()).to_pylist()
    codes: NDArray[np.int64] = pc.fill_null(whole.indices.cast(pa.int64()), -1).to_numpy()
    there: list[bool] = (np.bincount(codes[codes >= 0], minlength=len(texts)) > 0).tolist()
    places: dict[str, int] = {}
    moved = np.full(len(texts) + 1, np.nan)
    for code, text in enumerate(texts):
        if there[code] and text is not None and not (text == "" or text.isspace()):
            moved[code] = places.setdefault(text, len(places))
    return RawColumn("text", moved[codes], tuple(places))


def decode(encoded: RawColumn, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value of each row, from those of the texts."""
    return np.append(values, np.nan)[encoded.codes()]


def own_texts(column: RawColumn) -> RawColumn:
    """The same column, which knows no other texts than its rows have: those of all clients may be very many."""
    used, codes = np.unique(column.values[~column.empty], return_inverse=True)
    values = np.full(len(column.values), np.nan)
    values[~column.empty] = codes
    return replace(column, values=values, texts=tuple(column.texts[code] for code in used.astype(np.int64)))


def text_column(column: RawColumn) -> RawColumn:
    """A column as text, whatever it holds: as it was written, where that was kept."""
    if column.kind in ("text", "unusable"):
        return column
    if column.written is not None:
        return encode_texts(column.written)
    numbers, codes = np.unique(column.values[~column.empty], return_inverse=True)
    values = np.full(len(column.values), np.nan)
    values[~column.empty] = codes
    if column.kind == "boolean":
        return RawColumn("text", values, tuple("true" if number else "false" for number in numbers.tolist()))
    cell_text = date_text if column.kind == "date" else number_text
    return RawColumn("text", values, tuple(str(cell_text(number)) for number in numbers.tolist()))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def kind_words(kind: pa.DataType) -> str:
    """What a column of this type holds, in words."""
    if pa.types.is_nested(kind):
        return "lists" if "list" in str(kind).partition("<")[0] else "tables"
    return "bytes" if "binary" in str(kind) else f"values of type {kind}"
