"""Tables of other packages as arrow has them: frames, Datasets, lists of dicts, mappings of columns."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.core.problems import Problem, problems_error
from fedclade.data.cell_numbers import number_text

LONG_UNITS = [f"datetime64[{unit}]" for unit in "YMWhm"]  # that arrow does not know


def arrow_table(table: object, where: str) -> pa.Table:
    """A table of any of the kinds that are taken, as arrow has it."""
    try:
        if isinstance(table, Mapping):
            if parts := [str(name) for name, part in table.items() if hasattr(part, "column_names")]:
                need, do = "one table", "give one of them, and perhaps another one as `test`"
                raise InputError("these are several tables", where=where, got=", ".join(parts), need=need, do=do)
            return table_of(table, where)
        if isinstance(table, list | tuple) and all(isinstance(row, Mapping) for row in table):
            names = dict.fromkeys(name for row in table for name in row)
            return table_of({name: [row.get(name) for row in table] for name in names}, where)
        if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas; its index is no column
            frame: Any = table
            whole = table_of({place: frame.iloc[:, place] for place in range(frame.shape[1])}, where)
            return whole.rename_columns([str(name) for name in frame.columns])
        if hasattr(table, "with_format") and hasattr(table, "features") and not hasattr(table, "__len__"):
            need, do = (
                "a Dataset whose rows are there",
                "Dataset.from_list(list(rows)), or load_dataset without streaming",
            )
            raise InputError("this Dataset is read row by row", where=where, got=type(table).__name__, need=need, do=do)
        if hasattr(table, "with_format") and hasattr(table, "features"):
            return hugging_face_table(table)
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table)
    except (pa.ArrowException, ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        need = "columns of one length"
        raise InputError("the table is not usable", where=where, got=str(error)[:300], need=need) from None
    need = "a frame, a pyarrow table, a list of dicts, or a mapping of columns"
    raise InputError("this is not a table", where=where, got=type(table).__name__, need=need)


def table_of(columns: Mapping[Any, object], where: str) -> pa.Table:  # a frame may name a column as it likes
    """A table of these columns; one error names those that cannot be read."""
    arrays: list[pa.Array] = []
    problems: list[Problem] = []
    for name, column in columns.items():
        try:
            arrays.append(arrow_column(column))
        except (pa.ArrowException, ValueError, TypeError) as error:
            problems.append(Problem(str(name), f"cannot be read: {error}", "give a list, or an array (rows,)"))
    if problems:
        raise problems_error(problems, where)
    return pa.Table.from_arrays(arrays, [str(name) for name in columns])


def arrow_column(values: object) -> pa.Array | pa.ChunkedArray:
    """A column; values of several kinds become text."""
    if isinstance(values, str | bytes):
        raise TypeError("it is one text")
    if hasattr(values, "__array__") and not hasattr(values, "iloc") and not hasattr(values, "__arrow_c_array__"):
        values = plain_array(np.asarray(values))
    try:
        found = pa.array(values, from_pandas=True)
        if not isinstance(found.type, pa.BaseExtensionType):
            return found
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        pass
    cells: Any = values
    return pa.array([cell_text(cell) for cell in cells], pa.string())


def plain_array(array: NDArray[np.generic]) -> NDArray[np.generic] | list[NDArray[np.generic]]:
    """An array as arrow can have it: of this machine's byte order, times in seconds or finer, and in one dimension."""
    if array.dtype.name in LONG_UNITS:
        array = array.astype("datetime64[s]")
    if array.dtype == np.longdouble:
        array = array.astype(np.float64)
    array = array.astype(array.dtype.newbyteorder("="))
    return list(array) if array.ndim > 1 else array


def cell_text(cell: Any) -> str | None:  # of any type that a frame can hold
    """A cell as text; None if it is empty."""
    cell = cell.item() if hasattr(cell, "item") else cell
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    text = number_text(cell) if isinstance(cell, float | Decimal) else str(cell)
    return text and text.encode("utf-8", "backslashreplace").decode()


def hugging_face_table(dataset: Any) -> pa.Table:  # its package need not be installed
    """A Dataset of Hugging Face; numbers that stand for named classes become their names."""
    table = pa.table(dataset.with_format("arrow")[:])
    for name, feature in dataset.features.items():
        names = getattr(feature, "names", None)
        if isinstance(names, list | tuple) and pa.types.is_integer(table.column(name).type):
            codes = table.column(name).combine_chunks()
            named = pc.take(pa.array(names, pa.string()), pc.if_else(pc.less(codes, 0), None, codes))
            table = table.set_column(table.column_names.index(name), name, named)
    return table
