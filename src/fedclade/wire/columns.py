"""The verbs by which a preparation is fitted: what a client tells of the raw columns of its table.

columns         names and kinds of the columns, and flags: nothing of a row
column_counts   how many values lie between thresholds, and how many have a name, which the server chose
column_sums     sums of values that are cut off at bounds that the server chose, and names of frequent categories
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from fedclade.core import InputError, settings
from fedclade.core.column_names import MAX_COLUMNS, ColumnName, ColumnNames, Names
from fedclade.core.preparation import ColumnKind, DateOrder, DatePart
from fedclade.core.settings import nested_settings
from fedclade.wire.forms import Form
from fedclade.wire.message import Reply, Request
from fedclade.wire.verb import Verb

MAX_TEXT_BYTES = 2**24  # of JSON in a reply
MAX_THRESHOLDS = 4096  # of one column
MAX_CELLS = 2**22  # counts in a reply, of all columns and labels
CELLS_AT_ONCE = 2**18  # of them that are asked for in one request: its thresholds are text of a few megabytes
MAX_LABELS = 1000  # whose counts are told apart
MAX_CLASSES_TOLD = 10_000  # by one client
MAX_CLASS_LENGTH = 200  # characters
MAX_MEAN_WORDS = 1e7  # in a cell
NUMBER = 8  # bytes


def json_array(value: object) -> NDArray[np.uint8]:
    """Plain data as an array of bytes."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)


def json_of(array: NDArray[np.generic]) -> object:
    """The plain data of an array of bytes; None if it holds none, or text that is none (half a pair of UTF-16)."""
    try:
        found: object = json.loads(np.asarray(array, np.uint8).tobytes().decode())
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return found


TEXT_FORM = Form(np.uint8, (None,), MAX_TEXT_BYTES)


# -- columns ----------------------------------------------------------------------------------------------------------


@settings
class ColumnsFields:
    """What is told beside the columns."""

    tell_classes: bool = False
    """The names of the labels too: they are what the task is about, and every client must know all of them."""


FLAG_NAMES = ("is_unique", "is_monotone", "is_whole", "has_years", "day_first", "month_first")
KINDS = (
    *("empty", "unusable", "number", "boolean", "date", "text"),
    *("numbers and text", "dates and text", "numbers with a unit"),
)


def columns_forms(_: Request[ColumnsFields]) -> dict[str, Form]:
    one_each = Form(np.int64, (None,), MAX_COLUMNS, min_value=0)
    return {
        "names": TEXT_FORM,
        "faults": TEXT_FORM,
        "classes": TEXT_FORM,
        "kinds": Form(np.int64, (None,), MAX_COLUMNS, min_value=0, max_value=len(KINDS) - 1),
        "filled": one_each,
        "different": one_each,
        "words": Form(np.float64, (None,), MAX_COLUMNS, min_value=0, max_value=MAX_MEAN_WORDS),
        "flags": Form(np.bool_, (None, len(FLAG_NAMES)), MAX_COLUMNS),
    }


def columns_fault(_: Request[ColumnsFields], reply: Reply) -> str:
    names, classes, faults = (json_of(reply.arrays[name]) for name in ("names", "classes", "faults"))
    if not all(is_name_list(each) for each in (names, classes, faults)):
        return "names: got something else, need lists of text"
    assert isinstance(names, list)
    assert isinstance(faults, list)
    assert isinstance(classes, list)
    if len(classes) > MAX_CLASSES_TOLD or not all(is_class_name(each) for each in classes):
        return f"classes: need at most {MAX_CLASSES_TOLD} printable names of at most {MAX_CLASS_LENGTH} characters"
    if len(set(names)) < len(names):
        return "names: got one twice"
    lengths = {len(faults), *(len(reply.arrays[name]) for name in ("kinds", "filled", "different", "words", "flags"))}
    if lengths != {len(names)}:
        return f"columns: got {sorted(lengths)} facts for {len(names)} names"
    if names and int(reply.arrays["filled"].max()) > reply.examples:
        return f"filled: got more than {reply.examples} cells"
    if (reply.arrays["different"] > reply.arrays["filled"]).any():  # type: ignore[operator]  # the forms say int64
        return "different: got more than cells"
    return ""


def is_class_name(name: str) -> bool:
    """Whether a text can be the name of a class."""
    return 0 < len(name) <= MAX_CLASS_LENGTH and name.isprintable()


def is_name_list(value: object) -> bool:
    """Whether plain data are a list of names."""
    return isinstance(value, list) and all(isinstance(each, str) and len(each) <= 10_000 for each in value)


COLUMNS = Verb(name="columns", fields=ColumnsFields, forms=columns_forms, fault=columns_fault)


# -- column_counts ----------------------------------------------------------------------------------------------------


@settings
class NumbersAsked:
    """Numbers of one column, and thresholds between which they are counted."""

    kind: str = "numbers"
    column: ColumnName
    of: ColumnKind = "number"
    part: DatePart = ""
    order: DateOrder = ""
    thresholds: Annotated[tuple[float, ...], Field(max_length=MAX_THRESHOLDS)]
    """Rising."""


@settings
class NamesAsked:
    """Categories of one column, of which each is counted, and all others together."""

    kind: str = "names"
    column: ColumnName
    names: Names


@settings
class CountFields:
    """The columns whose values are counted."""

    columns: Annotated[
        tuple[Annotated[NumbersAsked, nested_settings(NumbersAsked)], ...], Field(max_length=MAX_COLUMNS)
    ] = ()
    categories: Annotated[
        tuple[Annotated[NamesAsked, nested_settings(NamesAsked)], ...], Field(max_length=MAX_COLUMNS)
    ] = ()
    class_names: Annotated[tuple[ColumnName, ...], Field(max_length=MAX_LABELS)] = ()
    """Counts are by label, in this order; none: all examples together."""

    @model_validator(mode="after")
    def check_size(self) -> Self:
        cells = sum(cells_of(self)) * max(len(self.class_names), 1)
        if cells > MAX_CELLS:
            got = f"{cells} counts"
            raise InputError("too much is asked at once", where="column_counts", got=got, need=f"at most {MAX_CELLS}")
        return self


def cells_of(asked: CountFields) -> list[int]:
    """How many counts each column has, those of numbers first."""
    numbers = [len(each.thresholds) + 1 for each in asked.columns]
    return numbers + [len(each.names) + 1 for each in asked.categories]


def count_blocks(asked: Sequence[NumbersAsked | NamesAsked], class_names: Sequence[str]) -> Iterator[CountFields]:
    """Requests for these columns, in their order, each with as much as one may ask; numbers come before names."""
    block: list[NumbersAsked | NamesAsked] = []
    size = 0
    for each in asked:
        cells = len(each.thresholds if isinstance(each, NumbersAsked) else each.names) + 1
        if block and (size + cells) * max(len(class_names), 1) > CELLS_AT_ONCE:
            yield count_fields(block, class_names)
            block, size = [], 0
        block.append(each)
        size += cells
    if block:
        yield count_fields(block, class_names)


def count_fields(asked: Sequence[NumbersAsked | NamesAsked], class_names: Sequence[str]) -> CountFields:
    """One request."""
    return CountFields(
        columns=tuple(each for each in asked if isinstance(each, NumbersAsked)),
        categories=tuple(each for each in asked if isinstance(each, NamesAsked)),
        class_names=tuple(class_names),
    )


def count_forms(request: Request[CountFields]) -> dict[str, Form]:
    cells = sum(cells_of(request.fields))
    return {"counts": Form(np.int64, (cells, max(len(request.fields.class_names), 1)), min_value=0)}


def count_fault(request: Request[CountFields], reply: Reply) -> str:
    starts = np.cumsum([0, *cells_of(request.fields)])
    counts = np.asarray(reply.arrays["counts"], np.float64)
    for first, last in pairwise(starts.tolist()):
        if counts[first:last].sum() > reply.examples:
            return f"counts: got more than {reply.examples} values in a column"
    return ""


def text_bytes(names: Sequence[str]) -> int:
    """Bytes of names."""
    return sum(map(len, names))


def count_bytes(asked: CountFields) -> int:
    """Bytes of thresholds and names."""
    numbers = sum(NUMBER * len(each.thresholds) + len(each.column) for each in asked.columns)
    names = sum(text_bytes(each.names) + len(each.column) for each in asked.categories)
    return numbers + names + text_bytes(asked.class_names)


COLUMN_COUNTS = Verb(
    name="column_counts", fields=CountFields, forms=count_forms, fault=count_fault, field_bytes=count_bytes
)


# -- column_sums ------------------------------------------------------------------------------------------------------


@settings
class SumAsked:
    """Numbers of one column, cut off at bounds, less a centre."""

    kind: str = "sum"
    column: ColumnName
    of: ColumnKind = "number"
    part: DatePart = ""
    order: DateOrder = ""
    low: float
    high: float
    centre: float


@settings
class SumFields:
    """The columns that are summed, and those whose names are counted."""

    numbers: Annotated[tuple[Annotated[SumAsked, nested_settings(SumAsked)], ...], Field(max_length=MAX_COLUMNS)] = ()
    categories: ColumnNames = ()
    texts: ColumnNames = ()
    """Their words are counted."""


def sum_forms(request: Request[SumFields]) -> dict[str, Form]:
    length = len(request.fields.numbers)
    return {
        "counts": Form(np.int64, (length,), min_value=0),
        "sums": Form(np.float64, (length,)),
        "squares": Form(np.float64, (length,), min_value=0),
        "names": TEXT_FORM,
    }


def sum_fault(request: Request[SumFields], reply: Reply) -> str:
    counts, sums, squares = (np.asarray(reply.arrays[name], np.float64) for name in ("counts", "sums", "squares"))
    asked = request.fields.numbers
    if (counts > reply.examples).any():
        return f"counts: got more than {reply.examples}"
    low = np.array([each.low - each.centre for each in asked])
    high = np.array([each.high - each.centre for each in asked])
    most = np.maximum(np.abs(low), np.abs(high)) if asked else low
    slack = 1e-6 * (1 + counts * most)
    if (sums < counts * low - slack).any() or (sums > counts * high + slack).any():
        return "sums: got more than the bounds allow"
    if (squares > counts * most**2 * (1 + 1e-6) + slack).any():
        return "squares: got more than the bounds allow"
    if (sums**2 > counts * squares * (1 + 1e-6) + slack**2).any():
        return "sums: got more than their squares allow"
    found = json_of(reply.arrays["names"])
    wanted = len(request.fields.categories) + len(request.fields.texts)
    if not isinstance(found, list) or len(found) != wanted:
        return f"names: need a list of {wanted}"
    for each in found:
        if not isinstance(each, dict) or not is_name_list([*each]):
            return "names: need the names of each column, with their counts"
        if not all(type(count) is int and 0 < count <= reply.examples for count in each.values()):
            return f"names: need counts from 1 to {reply.examples}"
    if any(sum(each.values()) > reply.examples for each in found[: len(request.fields.categories)]):
        return f"names: got more than {reply.examples} categories"
    return ""


def sum_bytes(asked: SumFields) -> int:
    """Bytes of bounds and names."""
    numbers = sum(3 * NUMBER + len(each.column) for each in asked.numbers)
    return numbers + text_bytes(asked.categories) + text_bytes(asked.texts)


COLUMN_SUMS = Verb(name="column_sums", fields=SumFields, forms=sum_forms, fault=sum_fault, field_bytes=sum_bytes)
