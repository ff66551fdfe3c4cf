"""Columns of an arrow table as features, and as names; an error names the column and the row."""

import difflib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.labels import Categorical, number_labels

FLOAT32_MAX = float(np.finfo(np.float32).max)


def feature_names(table: pa.Table, excluded: Sequence[str], where: str) -> tuple[str, ...]:
    """Every column but the excluded ones, in their order; an error if one of those is not there."""
    names: list[str] = table.column_names
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"column {name!r} is there {count} times", where=where, need="one column of each name")
    for name in excluded:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            shown = ", ".join(repr(known) for known in names[:10]) + (", ..." if len(names) > 10 else "")
            do = f'did you mean "{near[0]}"?' if near else ""
            if len(names) == 1 and ";" in names[0]:
                do = "separate the columns with commas"
            got = f"{len(names)} columns: {shown}"
            raise InputError(f'there is no column "{name}"', where=where, got=got, need=f'a column "{name}"', do=do)
    features = tuple(name for name in names if name not in excluded)
    if not features or not table.num_rows:
        what = "there are no examples" if features else "there are no features"
        got = f"{table.num_rows} rows, {len(features)} columns beside {' and '.join(excluded)}"
        raise InputError(what, where=where, got=got, need="at least 2 rows and 1 column of numbers")
    return features


def features(table: pa.Table, names: Sequence[str], where: str, *, exact: bool = False) -> NDArray[np.floating]:
    """(rows, columns) of these columns, as they are: nothing is rescaled.

    Exact: with all digits; times and numbers of parts are long, and differ in their last ones.
    """
    filled = np.empty((table.num_rows, len(names)), np.float64 if exact else np.float32)
    for number, name in enumerate(names):
        filled[:, number] = numbers(table.column(name), f"{where}, column {name!r}")
    return filled


def numbers(column: pa.ChunkedArray, where: str) -> NDArray[np.float64]:
    """A column of numbers, all of them there and finite."""
    if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if not pa.types.is_null(kind) and not is_number(kind):
        do = "leave the column out, or write it as numbers"
        raise InputError("a feature is not a number", where=where, got=first_non_number(column), need="numbers", do=do)
    refuse(pc.is_null(column, nan_is_null=True).to_numpy(), "cells are empty or NaN", where, "a number in every row")
    values: NDArray[np.float64] = pc.cast(column, pa.float64(), safe=False).to_numpy()
    refuse(~np.isfinite(values), "numbers are not finite", where, "finite numbers")
    refuse(np.abs(values) > FLOAT32_MAX, "numbers are too large", where, "float32's range")
    return values


def read_categorical(column: pa.ChunkedArray, where: str) -> Categorical:
    """A column of text, whole numbers or truth values, as names."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or is_number(kind) or pa.types.is_null(kind)) or pa.types.is_decimal(kind):
        got = f"{kind}, first {format_cell(column[0])}"
        need = "text or whole numbers"
        raise InputError("values are neither text nor whole numbers", where=where, got=got, need=need)
    empty = pc.is_null(column, nan_is_null=True).to_numpy()
    refuse(empty, "cells are empty or NaN", where, "a value in every row")
    chunks = (chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode() for chunk in column.chunks)
    parts = [Categorical(texts(chunk.dictionary, where), chunk.indices.to_numpy().astype(np.int64)) for chunk in chunks]
    for number, part in enumerate(parts):
        if "" in part.names:
            before = sum(len(earlier.codes) for earlier in parts[:number])
            nameless = [code for code, name in enumerate(part.names) if not name]
            empty[before : before + len(part.codes)] = np.isin(part.codes, nameless)
    refuse(empty, "cells are empty or NaN", where, "a value in every row")
    codes, names = number_labels(parts, where)
    return Categorical(names, np.concatenate(codes))


def categorical_array(values: NDArray[np.generic], where: str) -> Categorical:
    """An array of text, whole numbers or truth values, as names."""
    native = values.astype(values.dtype.newbyteorder("="))
    return read_categorical(pa.chunked_array([pa.array(native)]), where)


def texts(values: pa.Array, where: str) -> tuple[str, ...]:
    """These values as text; numbers must be whole, and a missing one becomes an empty text."""
    if pa.types.is_floating(values.type):
        exact: NDArray[np.float64] = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
        broken = (exact != np.floor(exact)) | (np.abs(exact) >= 2**63)
        if broken.any():
            got = str(exact[broken][0])
            do = "is this the right column?"
            raise InputError("a value is not a whole number", where=where, got=got, need="text or whole numbers", do=do)
        return tuple(str(int(value)) for value in exact)
    return tuple("" if text is None else text for text in pc.cast(values, pa.string()).to_pylist())


def refuse(broken: NDArray[np.bool_], what: str, where: str, need: str) -> None:
    """An error that names the first of these rows and counts them."""
    if broken.any():
        where = f"{where}, first in row {int(np.argmax(broken)) + 1} of {len(broken)}"
        raise InputError(what, where=where, got=f"{int(broken.sum())} of them", need=need, do="drop or fill these rows")


def first_non_number(column: pa.ChunkedArray) -> str:
    """The first value of a column that is no number, with its row."""
    for row, value in enumerate(column):
        try:
            float(value.as_py())
        except (TypeError, ValueError):
            if value.is_valid:
                return f"{format_cell(value)} in row {row + 1}"
    return f"{column.type}" + (f", first {format_cell(column[0])}" if len(column) else "")


def format_cell(value: pa.Scalar) -> str:
    """A cell as an error shows it: short, and on one line."""
    text = repr(value.as_py())
    return text if len(text) <= 60 else text[:60] + "..."


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type is a feature as it is."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in kinds)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type is text."""
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
