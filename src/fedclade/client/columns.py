"""What a client answers of the raw columns of its table, so that a preparation can be fitted. No torch is needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data import ClientData
from fedclade.data.column_sums import clipped_sums, column_flags, count_below, count_known, frequent_names
from fedclade.data.prepared import numbers_of
from fedclade.data.raw_table import RawColumn, RawTable
from fedclade.wire import Arrays, Request
from fedclade.wire.columns import (
    COLUMN_COUNTS,
    COLUMN_SUMS,
    COLUMNS,
    FLAG_NAMES,
    KINDS,
    ColumnsFields,
    CountFields,
    NumbersAsked,
    SumAsked,
    SumFields,
    json_array,
)
from fedclade.wire.message import AnyRequest


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows of a table, as they were written; a column is cut out when it is asked for."""

    table: RawTable
    index: NDArray[np.int64]

    def column(self, name: str) -> RawColumn:
        """A column; one that is not there is empty."""
        found = self.table.columns.get(name)
        return RawColumn("empty", np.full(len(self.index), np.nan)) if found is None else found.rows(self.index)


def training_rows(data: ClientData) -> RawRows:
    """The training rows of a client."""
    if data.train.pool.table is None:
        raise InputError("the examples are no table", got="arrays", need="rows with columns")
    return RawRows(data.train.pool.table, data.train.index)


def describe_columns(request: Request[ColumnsFields], data: ClientData) -> Arrays:
    """Names, kinds and flags of all columns."""
    rows = training_rows(data)
    columns = rows.table.columns
    flags = [column_flags(rows.column(name)) for name in columns]
    names = data.train.pool.class_names
    labels = np.union1d(data.train.labels, data.test.labels)  # the task's vocabulary
    used = [names[label] for label in labels] if request.fields.tell_classes and names else []
    return {
        "names": json_array(list(columns)),
        "faults": json_array([column.fault for column in columns.values()]),
        "classes": json_array(used),
        "kinds": np.array([KINDS.index(each.kind) for each in flags], np.int64),
        "filled": np.array([each.filled for each in flags], np.int64),
        "different": np.array([each.different for each in flags], np.int64),
        "words": np.array([each.words for each in flags], np.float64),
        "flags": np.array([[getattr(each, name) for name in FLAG_NAMES] for each in flags], bool).reshape(
            len(flags), len(FLAG_NAMES)
        ),
    }


def count_values(request: Request[CountFields], data: ClientData) -> Arrays:
    """How many values of each column lie between the thresholds, and how many have one of the names."""
    asked = request.fields
    rows, labels, classes = labelled_rows(data, asked.class_names)
    counts = [
        count_below(
            numbers_of(rows.column(each.column), each.of, each.part, each.order), each.thresholds, labels, classes
        )
        for each in asked.columns
    ]
    counts += [count_known(rows.column(each.column), each.names, labels, classes) for each in asked.categories]
    return {"counts": np.concatenate(counts) if counts else np.zeros((0, classes), np.int64)}


def sum_values(request: Request[SumFields], data: ClientData) -> Arrays:
    """Sums of the numbers, and the names that are frequent."""
    rows, asked = training_rows(data), request.fields
    sums = [
        clipped_sums(
            numbers_of(rows.column(each.column), each.of, each.part, each.order), each.low, each.high, each.centre
        )
        for each in asked.numbers
    ]
    names = [frequent_names(rows.column(column), words=False) for column in asked.categories]
    names += [frequent_names(rows.column(column), words=True) for column in asked.texts]
    return {
        "counts": np.array([count for count, _, _ in sums], np.int64),
        "sums": np.array([total for _, total, _ in sums], np.float64),
        "squares": np.array([square for _, _, square in sums], np.float64),
        "names": json_array(names),
    }


def asked_numbers(rows: RawRows, asked: NumbersAsked | SumAsked) -> NDArray[np.float64]:
    """The numbers of a column."""
    return numbers_of(rows.column(asked.column), asked.of, asked.part, asked.order)


def labelled_rows(data: ClientData, class_names: Sequence[str]) -> tuple[RawRows, NDArray[np.int64], int]:
    """The rows whose label is one of these names, their labels in this order, and how many names there are.

    Without names: all rows, with one label.
    """
    rows, labels = training_rows(data), data.train.labels
    if not class_names:
        return rows, np.zeros(len(labels), np.int64), 1
    places = {name: place for place, name in enumerate(class_names)}
    numbers = np.array([places.get(name, -1) for name in data.train.pool.class_names], np.int64)[labels]
    known = np.flatnonzero(numbers >= 0)
    return RawRows(rows.table, rows.index[known]), numbers[known], len(class_names)


COLUMN_ANSWERS: dict[str, Callable[[AnyRequest, ClientData], Arrays]] = {
    COLUMNS.name: describe_columns,
    COLUMN_COUNTS.name: count_values,
    COLUMN_SUMS.name: sum_values,
}
"""What is answered without a net, by the name of the verb."""
