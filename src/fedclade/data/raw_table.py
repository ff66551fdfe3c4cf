"""The rows of a table as they were written, column by column: before a preparation makes inputs of them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedclade.core.preparation import ColumnKind

RawKind: TypeAlias = ColumnKind | Literal["empty", "unusable"]
TRUTH = {"true": 1.0, "false": 0.0}
CODE = r"^[+-]?0[0-9]"  # a code that looks like a number, such as 01
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
OTHER_DATE = re.compile(r"\d{1,2}([./])\d{1,2}\1\d{4}")
DAY_SECONDS = 86400.0  # seconds
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # of a second


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

    def rows(self, index: NDArray[np.int64]) -> "RawColumn":
        return replace(self, values=self.values[index])

    @property
    def empty(self) -> NDArray[np.bool_]:
        """(rows,)"""
        return np.isnan(self.values)

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
    table: pa.Table, names: Collection[str], *, categorical: Collection[str] = (), numeric: Collection[str] = ()
) -> RawTable:
    """These columns of an arrow table."""
    columns = {
        name: read_column(table.column(name), text=name in categorical, number=name in numeric) for name in names
    }
    return RawTable(columns, table.num_rows)


def read_column(column: pa.ChunkedArray, *, text: bool = False, number: bool = False) -> RawColumn:
    """One column; text that is written like numbers, truth values or dates is read as such, unless it is to be text.

    Where numbers are wanted, a cell that is none counts as empty.
    """
    column = unwrap(column)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind):
        return RawColumn("empty", np.full(len(column), np.nan))
    if is_text(kind):
        return read_text(column, text=text, number=number)
    timed = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)
    if not (is_number(kind) or pa.types.is_boolean(kind) or timed):
        return RawColumn("unusable", np.full(len(column), np.nan), fault=f"holds {kind_words(kind)}")
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
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
        return number_column(decode(encoded, np.array([float_or_nan(each) for each in encoded.texts])))
    words = pa.array(encoded.texts, pa.string())
    if (numbers := texts_as_floats(words)) is not None:
        return number_column(decode(encoded, numbers))
    if (truth := texts_as_truth(encoded.texts)) is not None:
        return RawColumn("boolean", decode(encoded, truth))
    if (dates := texts_as_dates(words)) is not None:
        return RawColumn("date", decode(encoded, dates))
    return encoded


def texts_as_floats(words: pa.Array | pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Texts as numbers; None unless all are, or if one is a code."""
    try:
        numbers = pc.cast(words, pa.float64())
    except pa.ArrowInvalid:
        return None
    return None if pc.any(pc.match_substring_regex(words, CODE)).as_py() else as_floats(numbers)


def texts_as_truth(words: Sequence[str]) -> NDArray[np.float64] | None:
    """Texts as 1 for true and 0 for false; None unless all are."""
    lower = [word.lower() for word in words]
    return np.array([TRUTH[word] for word in lower]) if set(lower) <= TRUTH.keys() else None


def texts_as_dates(words: pa.Array) -> NDArray[np.float64] | None:
    """Texts as seconds since 1970, None unless all are dates: 2024-12-31, 31.12.2024, or with slashes in the only order
    of day and month in which all are; also with a time behind it.
    """
    first = words[0].as_py()
    if ISO_DATE.match(first):
        zoned = pa.timestamp("us", tz="UTC")
        return parse_dates(lambda: pc.cast(words, pa.timestamp("us")), lambda: pc.cast(words, zoned))
    if not (date := OTHER_DATE.match(first)):
        return None
    clock = ("", " %H:%M", " %H:%M:%S")[min(first.count(":"), 2)]
    orders = ["%d.%m.%Y"] if date.group(1) == "." else ["%d/%m/%Y", "%m/%d/%Y"]
    return parse_dates(*(partial(pc.strptime, words, order + clock, "us") for order in orders))


def parse_dates(*ways: Callable[[], pa.Array]) -> NDArray[np.float64] | None:
    """The result of the only way to read dates that is possible."""
    found: list[NDArray[np.float64]] = []
    for read in ways:
        try:
            found.append(seconds(read()))
        except pa.ArrowInvalid:
            continue
    return found[0] if len(found) == 1 else None


def seconds(column: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Dates and times as seconds since 1970, in Greenwich; times of day as seconds since midnight; durations."""
    kind = column.type
    if pa.types.is_date(kind):
        return as_floats(column.cast(pa.date32()).cast(pa.int32())) * DAY_SECONDS
    return as_floats(column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())) / UNITS[kind.unit]


def as_floats(column: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Numbers in double precision, NaN where there is none."""
    values: NDArray[np.float64] = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values.astype(np.float64, copy=False)


def float_or_nan(text: str) -> float:
    """The number that a text is written like; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers, truth values and dates as text: whole numbers without a point, however they are stored."""
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


def number_text(value: float | np.floating | Decimal) -> str | None:
    """A number as text, without a point if it is whole; None for NaN."""
    if value != value:
        return None
    if isinstance(value, Decimal):
        digits = f"{value:f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return str(int(value)) if value.is_integer() and -(2.0**63) < value < 2.0**63 else str(value)


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


def text_column(column: RawColumn) -> RawColumn:
    """A column as text, whatever it holds."""
    if column.kind in ("text", "unusable"):
        return column
    numbers, codes = np.unique(column.values[~column.empty], return_inverse=True)
    values = np.full(len(column.values), np.nan)
    values[~column.empty] = codes
    if column.kind == "boolean":
        return RawColumn("text", values, tuple("true" if number else "false" for number in numbers.tolist()))
    return RawColumn("text", values, tuple(str(number_text(number)) for number in numbers.tolist()))


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
