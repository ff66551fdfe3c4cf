"""Which task the label of a table makes, and the label of each row.

    text, truth values, few whole numbers      classification
    numbers with a fraction, many whole ones   regression
    several columns of 0 and 1                 multi-label

`task` in `[data]` says another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fedclade.core.task import Labels, Task
from fedclade.data.cell_numbers import float_or_nan
from fedclade.data.examples import Pool
from fedclade.data.labels import MAX_CLASSES, Categorical, number_labels
from fedclade.data.raw_table import RawColumn, RawTable, read_column
from fedclade.data.table_names import MAX_SHOWN, Found, read_names

if TYPE_CHECKING:
    from fedclade.data.own import OwnData
    from fedclade.data.sites import SiteTables

MAX_FEW = 20  # different numbers: more are a measurement, unless they number classes
MIN_ROWS_OF_CODE = 10  # rows of each whole number in the mean: fewer are a measurement
MIN_ROWS_PER_CLASS = 2.0  # in the mean: fewer are names of rows, and no classes


@dataclass(frozen=True, eq=False)
class LabelCells:
    """The cells of the label, before it is known which rows are used."""

    columns: tuple[str, ...]
    """One, or several flags."""
    names: RawColumn
    """As text; of flags without any."""
    numbers: tuple[RawColumn, ...] = ()
    """As numbers: of a regression, or of each flag; empty where there are none."""

    @property
    def has_label(self) -> NDArray[np.bool_]:
        """(rows,): which rows have a label, or may have one where the column has a problem."""
        found = np.ones(len(self.names.values), np.bool_)
        if self.numbers:
            for column in self.numbers:
                if not column.empty.all():
                    found &= ~column.empty
            return found
        return ~self.names.empty if self.names.texts else found


@dataclass(frozen=True, eq=False)
class TargetColumn:
    """The label of each row, and the task that it makes."""

    task: Task
    labels: Labels
    """(rows, ...); of a regression 0: a preparation brings numbers to a scale."""
    strata: Labels
    """(rows, ...): what reaches the test part in proportion; of a regression the numbers."""
    numbers: RawColumn | None = None
    """Of a regression."""


def label_columns(label: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of the label: one, or several whose names have commas between."""
    if label in columns or "," not in label:
        return (label,)
    return tuple(part.strip() for part in label.split(","))


def read_cells(table: pa.Table, own: "OwnData | SiteTables", found: Found) -> LabelCells:
    """The cells of the label."""
    columns = label_columns(own.label, table.column_names)
    nothing = RawColumn("text", np.full(table.num_rows, np.nan))
    if len(columns) > 1 or own.task == "multi-label":
        flags = [read_flag(table, column, found) for column in columns]
        return LabelCells(columns, nothing, tuple(flag if flag is not None else nothing for flag in flags))
    before = len(found.problems)
    names = read_names(table, own.label, "label", found)
    if len(found.problems) > before:
        return LabelCells(columns, nothing)
    if own.task == "regression":
        return LabelCells(columns, names, (read_number(table, own.label, found),))
    return LabelCells(columns, names)


def read_number(table: pa.Table, column: str, found: Found) -> RawColumn:
    """The label of a regression."""
    cells = read_column(table.column(column))
    if cells.kind in ("number", "boolean"):
        return cells
    if cells.kind == "unusable":
        found.add(column, f"{cells.fault} (--label)", "correct it, or empty the cell: rows without label are set aside")
        return cells
    texts = cells.texts or read_column(table.column(column), text=True).texts
    numbers = read_column(table.column(column), number=True)
    strange = next((text for text in texts if not is_measured(text)), texts[0])
    do = "empty such cells: rows without label are set aside" if not numbers.empty.all() else "name another label"
    found.add(column, f"holds {strange[:40]!r}, and a regression needs numbers (--task)", do)
    return numbers


def read_flag(table: pa.Table, column: str, found: Found) -> RawColumn | None:
    """One of several flags: numbers 0 and 1."""
    before = len(found.problems)
    names = read_names(table, column, "label", found)
    if len(found.problems) > before:
        return None
    cells = read_column(table.column(column))
    values = np.unique(cells.values[~cells.empty])
    if cells.kind in ("number", "boolean") and set(values.tolist()) <= {0.0, 1.0}:
        return cells
    strange = next((text for text in names.texts if text not in ("0", "1")), names.texts[0])
    do = "give flags, or name one column: --label COLUMN"
    found.add(column, f"holds {strange[:40]!r}, and one of several labels is 0 or 1, true or false (--label)", do)
    return None


def decide_target(
    cells: LabelCells | None, table: pa.Table, kept: NDArray[np.bool_], own: "OwnData | SiteTables", found: Found
) -> TargetColumn:
    """The task that the label makes, and the label of each row that is used. Without a label there is one class."""
    nothing = np.zeros(table.num_rows, np.int64)
    if cells is None or not (cells.names.texts or cells.numbers):
        made = TargetColumn(Task(), nothing, nothing)
    elif len(cells.columns) > 1 or own.task == "multi-label":
        made = flags_target(cells, kept, found)
    elif own.task == "regression" or (own.task == "auto" and not own.classes and measures(cells, table, kept, found)):
        made = number_target(cells, table, kept, own, found)
    else:
        codes, names = number_codes(cells.names, kept, own, found)
        made = TargetColumn(Task(count=max(len(names), 1), names=names), codes, codes)
    if own.task == "reconstruction":
        made = replace(made, task=replace(made.task, kind="reconstruction"))
    if own.loss != "default" and made.task.kind != "regression" and not found.problems:
        found.add(own.label, f"is no regression, and only one has loss {own.loss!r}", "leave out --loss, or --task")
    if own.classes and made.task.labels != "class" and not found.problems:
        found.add(own.label, f"has classes (--classes), and the task is {made.task.kind}", "give one of both")
    return made


def target_pool(target: TargetColumn, columns: RawTable, label: str) -> Pool:
    """The rows of a table with their labels. The column of a regression's label is among the raw columns."""
    if target.numbers is not None:
        columns = RawTable({**columns.columns, label: target.numbers}, columns.length)
    names = target.task.names if target.task.labels == "class" else ()
    return Pool(np.zeros((len(columns), 0), np.float32), target.labels, table=columns, class_names=names)


def measures(cells: LabelCells, table: pa.Table, kept: NDArray[np.bool_], found: Found) -> bool:
    """Whether a label is a measurement. Where it could be taken for another thing a note says what it is taken for."""
    column = cells.columns[0]
    numbers = read_column(table.column(column))
    if numbers.kind == "unusable":
        return True  # infinite ones: that is said where they are read
    if numbers.kind != "number":
        return False
    values, counts = np.unique(numbers.values[kept], return_counts=True)
    if len(values) <= MAX_FEW:
        return False
    if (values % 1 == 0).all():
        starts, gapless = values[0] in (0, 1), values[-1] - values[0] == len(values) - 1
        if starts and gapless and counts.mean() >= MIN_ROWS_OF_CODE:
            note = f"label {column!r} holds {len(values):,} whole numbers without a gap: a classification"
            found.notes.append(f"{note} (--task regression takes them for measurements)")
            return False
    note = f"label {column!r} holds {len(values):,} different numbers: a regression"
    found.notes.append(f"{note} (--task classification takes them for classes)")
    return True


def number_target(
    cells: LabelCells, table: pa.Table, kept: NDArray[np.bool_], own: "OwnData | SiteTables", found: Found
) -> TargetColumn:
    """The target of a regression."""
    numbers = cells.numbers[0] if cells.numbers else read_number(table, cells.columns[0], found)
    used = numbers.values[kept & ~numbers.empty]
    if numbers.kind != "unusable" and (not len(used) or used.min() == used.max()):
        alike = f"is {used[0]:g} in every row" if len(used) else "is empty in every row that can be used"
        found.add(cells.columns[0], f"{alike}: there is nothing to learn (--label)", "name another label")
    rows = len(numbers.values)
    task = Task(kind="regression", labels="number", names=cells.columns, loss=own.loss)
    return TargetColumn(task, np.zeros(rows, np.float32), numbers.values.astype(np.float32), numbers)


def flags_target(cells: LabelCells, kept: NDArray[np.bool_], found: Found) -> TargetColumn:
    """The target of several flags."""
    for column in sorted({each for each in cells.columns if cells.columns.count(each) > 1}):
        found.add(column, "is named twice (--label)", "name each column once")
    flags = np.stack([np.nan_to_num(each.values) for each in cells.numbers], axis=1).astype(np.uint8)
    if not found.problems and kept.any() and (flags[kept] == flags[kept][0]).all():
        found.add(cells.columns[0], "and the other flags are the same in every row (--label)", "name other labels")
    if len(cells.columns) > 1 and not found.problems:
        found.notes.append(f"labels {', '.join(map(repr, cells.columns))} hold flags: a multi-label task")
    task = Task(kind="multi-label", labels="flags", count=len(cells.columns), names=cells.columns)
    return TargetColumn(task, flags, flags)


def number_codes(
    labels: RawColumn, kept: NDArray[np.bool_], own: "OwnData | SiteTables", found: Found
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(rows,) the labels as numbers, 0 for none, and their names: those in use, or those that are given."""
    codes = labels.codes()
    used = sorted({labels.texts[code] for code in np.unique(codes[kept])})
    before = len(found.problems)
    if own.classes:
        if len(set(own.classes)) < max(len(own.classes), 2):
            do = "give each class once, 2 or more"
            found.add(own.label, "has too few classes, or one of them twice (--classes)", do)
        elif strange := sorted(set(used) - set(own.classes)):
            shown = ", ".join(map(repr, strange[:MAX_SHOWN])) + (", ..." if len(strange) > MAX_SHOWN else "")
            found.add(own.label, f"holds {shown}, not among the classes (--classes)", "give all classes")
    else:
        say_wrong_labels(own.label, used, int(kept.sum()), found)
    if len(found.problems) > before:
        return np.zeros_like(codes), ()
    names = own.classes or number_labels([Categorical(tuple(used), np.arange(len(used)))], own.label)[1]
    places = {name: place for place, name in enumerate(names)}
    return np.array([*(places.get(text, 0) for text in labels.texts), 0], np.int64)[codes], names


def say_wrong_labels(column: str, names: Sequence[str], rows: int, found: Found) -> None:
    """Add a problem where a column of labels cannot be one."""
    different = f"{len(names):,} different values in {rows:,} rows"
    if len(names) < 2:
        alike = f"is {names[0]!r} in every row" if names else "is empty in every row that can be used"
        found.add(column, f"{alike}: a label needs at least 2 classes", "name another label")
    elif len(names) > MAX_CLASSES or (len(names) > MAX_FEW and rows < MIN_ROWS_PER_CLASS * len(names)):
        do = "measurements need --task regression" if all(map(is_measured, names)) else "name another label"
        found.add(column, f"has too many classes: {different}", do)


def is_measured(name: str) -> bool:
    """Whether a label is written like a number."""
    return not np.isnan(float_or_nan(name))
