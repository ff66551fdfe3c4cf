"""The rows of a table as they were written, column by column: before a preparation makes inputs of them."""

import math
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
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # the numbers that arrow reads
CODE = r"^[+-]?0[0-9]"  # a code that looks like a number, such as 01
ISO_DATE = r"\d{4}-\d\d-\d\d"
DATE_FORMS = {
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{4}\.\d{1,2}\.\d{1,2}": ("%Y.%m.%d",),
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%d/%m/%Y", "%m/%d/%Y"),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
    r"\d{1,2}-[A-Za-z]{3}-\d{4}": ("%d-%b-%Y",),
    r"\d{1,2} [A-Za-z]{3} \d{4}": ("%d %b %Y",),
    r"[A-Za-z]{3} \d{1,2}, \d{4}": ("%b %d, %Y",),
}
"""How days can be written, beside as 2024-12-31, and the orders in which such text can be read."""
CLOCK = r"\d{1,2}:\d\d(:\d\d)?"
CLOCK_FORMS = {0: "", 1: "%H:%M", 2: "%H:%M:%S"}
"""By the number of colons."""
DATE = re.compile(rf"({'|'.join([ISO_DATE, *DATE_FORMS])})([ T].*)?|{CLOCK}")
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
    written: pa.ChunkedArray | None = None
    """The cells of a column that was text and became something else, where they are kept: at other clients it may be of
    categories, and then its names are those that were written."""

    def rows(self, index: NDArray[np.int64]) -> "RawColumn":
        written = None if self.written is None else self.written.take(pa.array(index))
        return replace(self, values=self.values[index], written=written)

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
        return number_column(numbers_of_texts(encoded))
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
    if (dates := texts_as_dates(words)) is not None:
        return RawColumn("date", decode(encoded, dates))
    return encoded


def texts_as_floats(words: pa.Array | pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Texts as numbers; None unless all are, or if one is a code. Arrow reads `nan` and `inf`, which are none here."""
    try:
        numbers = as_floats(pc.cast(words, pa.float64()))
    except pa.ArrowInvalid:
        return None
    if np.isfinite(numbers).sum() < len(words) - words.null_count:
        return None
    return None if pc.any(pc.match_substring_regex(words, CODE)).as_py() else numbers


def texts_as_truth(words: Sequence[str]) -> NDArray[np.float64] | None:
    """Texts as 1 for true and 0 for false; None unless all are."""
    lower = [word.lower() for word in words]
    return np.array([TRUTH[word] for word in lower]) if set(lower) <= TRUTH.keys() else None


def texts_as_dates(words: pa.Array) -> NDArray[np.float64] | None:
    """Texts as seconds since 1970, None unless all are dates, also with a time behind, or times of day.

    Where the order of day and month can be two, it must be the only one in which all texts can be read.
    """
    first = words[0].as_py()
    if re.match(ISO_DATE, first):
        zoned = pa.timestamp("us", tz="UTC")
        return parse_dates(lambda: pc.cast(words, pa.timestamp("us")), lambda: pc.cast(words, zoned))
    clock = CLOCK_FORMS.get(first.count(":"), "")
    if re.fullmatch(CLOCK, first):
        return parse_dates(partial(pc.strptime, words, clock, "us"))
    orders = next((orders for form, orders in DATE_FORMS.items() if re.match(rf"{form}(?!\d)", first)), ())
    return parse_dates(*(partial(pc.strptime, words, f"{order} {clock}".strip(), "us") for order in orders))


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
    """The number that a text is written like; NaN if it is none, or too large. Python alone would read 1_1 as 11."""
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else math.nan


def number_or_truth(text: str) -> float:
    """The number that a text is written like, 1 for true and 0 for false; NaN if it is none."""
    return TRUTH.get(text.lower(), float_or_nan(text))


def numbers_of_texts(encoded: RawColumn) -> NDArray[np.float64]:
    """The number of each row of a column of text, also of truth values; NaN where there is none."""
    return decode(encoded, np.array([number_or_truth(each) for each in encoded.texts], np.float64))


def dates_of_texts(encoded: RawColumn) -> NDArray[np.float64]:
    """The date of each row of a column of text, in seconds since 1970; NaN where a text alone is none."""
    found = [texts_as_dates(pa.array([each], pa.string())) for each in encoded.texts]
    return decode(encoded, np.array([math.nan if date is None else date[0] for date in found], np.float64))


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


def number_text(value: float | np.floating | Decimal) -> str | None:
    """A number as text, without a point if it is whole; None for NaN."""
    if value != value:
        return None
    if isinstance(value, Decimal):
        digits = f"{value:f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return str(int(value)) if value.is_integer() and -(2.0**63) < value < 2.0**63 else str(value)


def date_text(seconds: float) -> str:
    """A date as ISO has it; with the time behind it, unless that is midnight."""
    whole, millionths = divmod(round(seconds * 1e6), 10**6)
    date, clock = str(np.datetime64(whole, "s")).split("T")
    if millionths:
        clock += f".{millionths:06}"
    return date if clock == "00:00:00" else f"{date} {clock}"


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
