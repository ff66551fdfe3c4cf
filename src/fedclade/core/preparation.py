"""A preparation: how the raw columns of a table become the inputs of a net.

It is plain data. The server fits it once (`fedclade.preparation`), from sums over all clients; it is stored with every
run and model, and every client applies it to its own rows (`fedclade.data.prepared`). So finding groups, training,
prediction and a site in another place see the same numbers.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from fedclade.core.column_names import MAX_COLUMNS, ColumnName, ColumnNames, Names
from fedclade.core.errors import InputError
from fedclade.core.settings import build_settings, nested_settings, settings
from fedclade.core.task import Task

EMPTY_CELL = ""  # in the place of a category, where empty cells are counted too: no cell has it as its text
NO_NAME = re.compile(r"\s*|unnamed:? ?\d+(\.\d+)*|\.\.\.\d+|__index_level_\d+__|level_\d+|#", re.IGNORECASE)
"""How programs call a column of row numbers that has no name of its own."""
LARGEST = 1e18  # a raw number is cut off there: float32 holds its square
MAX_INPUTS = 20_000  # of a row: a net has weights for each

WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")  # as Python writes a whole number

ColumnKind = Literal["number", "boolean", "date", "text"]
DatePart = Literal["", "year", "month", "weekday", "hour"]
DateOrder = Literal["", "day", "month"]
"""What stands first in dates such as 05/06/2024; empty where that is the same."""
Preparing = Literal["standard", "none"]
Dates = Literal["auto", "day-first", "month-first"]


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column: itself, its truth values as 1 and 0, or a part of its dates."""

    column: str
    of: ColumnKind = "number"
    part: DatePart = ""
    order: DateOrder = ""


@settings
class NumberInput:
    """One input from a column of numbers, of truth values, or from a part of a date: (value - centre) / scale."""

    kind: Literal["number"] = "number"
    column: ColumnName
    of: ColumnKind = "number"
    """What the column holds."""
    part: DatePart = ""
    """Of a date."""
    order: DateOrder = ""
    """Of a date: what stands first in it."""
    low: float
    """Values below count as this."""
    high: float
    """Values above count as this."""
    fill: float
    """What an empty cell counts as: the middle of all values."""
    centre: float = 0.0
    scale: Annotated[float, Field(gt=0)] = 1.0

    def names(self) -> tuple[str, ...]:
        return (f"{self.column} ({self.part})" if self.part else self.column,)


@settings
class CategoryInput:
    """An input for each name: 1 where the column has it, else 0; and one for all other names, where there are some."""

    kind: Literal["category"] = "category"
    column: ColumnName
    categories: Names
    other: bool
    """Whether there is an input for all other names."""

    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.column}: {name}" for name in (*self.categories, *(("other",) if self.other else ())))


@settings
class WordInput:
    """An input for each word: 1 where the text has it, else 0."""

    kind: Literal["words"] = "words"
    column: ColumnName
    words: Names

    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.column} has {word!r}" for word in self.words)


@settings
class MissingInput:
    """An input that is 1 where the cell is empty, else 0."""

    kind: Literal["missing"] = "missing"
    column: ColumnName

    def names(self) -> tuple[str, ...]:
        return (f"{self.column} is empty",)


TableInput: TypeAlias = NumberInput | CategoryInput | WordInput | MissingInput
INPUT_KINDS = (NumberInput, CategoryInput, WordInput, MissingInput)


def read_task(value: object) -> object:
    """A task of plain data."""
    return build_settings(Task, value, "task") if isinstance(value, Mapping) else value


@settings
class Preparation:
    """How the raw columns of a table become inputs, and what its labels are."""

    inputs: Annotated[
        tuple[Annotated[TableInput, nested_settings(*INPUT_KINDS)], ...], Field(min_length=1, max_length=MAX_COLUMNS)
    ]
    """In their order."""
    task: Annotated[Task, BeforeValidator(read_task)] = field(default_factory=Task)
    """What is learned: the names of the classes, or the scale of a number."""
    client: ColumnName = ""
    """The column that named the client of a row."""
    label: ColumnName = ""
    """The column of the label; several with commas between."""
    left_out: Annotated[dict[ColumnName, ColumnName], Field(max_length=MAX_COLUMNS)] = field(default_factory=dict)
    """Columns that are no input, and why."""
    warnings: ColumnNames = ()
    """What a user should know of the inputs, a sentence each."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the labels 0, 1, ...; empty where labels are no classes, or there are none."""
        return self.task.names if self.task.labels == "class" else ()

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each input."""
        return tuple(name for each in self.inputs for name in each.names())

    @property
    def width(self) -> int:
        """How many inputs a row has."""
        return len(self.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, in their order."""
        return tuple(dict.fromkeys(each.column for each in self.inputs))

    @property
    def shown_as_numbers(self) -> tuple[bool, ...]:
        """Whether each input is a number on a scale of its own; if not, it is 0 or 1."""
        measured = [isinstance(each, NumberInput) for each in self.inputs]
        return tuple(number for each, number in zip(self.inputs, measured, strict=True) for _ in each.names())

    def notes(self) -> tuple[str, ...]:
        """What a user should know of the inputs, a sentence each."""
        left_out = "; ".join(f"{column!r} ({why})" for column, why in self.left_out.items())
        return (*([f"columns left out: {left_out}"] if left_out else []), *self.warnings)

    def table(self) -> dict[str, object]:
        """The preparation as plain data."""
        return asdict(self)

    @property
    def is_raw(self) -> bool:
        """Whether numbers are as they were written."""
        numbers = [each for each in self.inputs if isinstance(each, NumberInput)]
        return any(each.scale == 1 and each.centre == 0 and each.high >= LARGEST for each in numbers)

    def to_json(self) -> bytes:
        """The preparation as it is stored."""
        return json.dumps(self.table(), indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def sort_labels(names: Iterable[str]) -> tuple[str, ...]:
    """The names of labels in order: as numbers if all are whole numbers (2 before 10), else as text."""
    known = list(names)
    return tuple(sorted(known, key=int) if all(WHOLE.fullmatch(name) for name in known) else sorted(known))


def read_preparation(table: object, where: str) -> Preparation:
    """The preparation of plain data, which may come from a disk or over a network: everything is checked."""
    if not isinstance(table, Mapping):
        raise InputError("this is no preparation", where=where, got=type(table).__name__, need="a table")
    found = build_settings(Preparation, table, where)
    if found.width > MAX_INPUTS:
        raise InputError("a row has too many inputs", where=where, got=str(found.width), need=f"at most {MAX_INPUTS}")
    return found


@settings
class ColumnChoices:
    """What a user says of the columns of a table; what is not said is found out."""

    without: ColumnNames = ()
    """Columns that are left out."""
    only: ColumnNames = ()
    """The columns that are used, and no others; none named: all."""
    keep: ColumnNames = ()
    """Columns that are used though they look like ids."""
    categorical: ColumnNames = ()
    """Columns that are categories though they look like numbers."""
    numeric: ColumnNames = ()
    """Columns that are numbers; a cell that is none counts as empty."""
    text: ColumnNames = ()
    """Columns of free text, of which the most frequent words are used."""
    dates: Dates = "auto"
    """What stands first in dates such as 05/06/2024, where no cell of any client shows it; auto: what stands first in
    the other columns."""
    prepare: Preparing = "standard"
    """Numbers less their mean, over their deviation, cut off far out; `none`: as they are."""
