"""A user's table, with a column that names the client, as a federation."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import pyarrow as pa

from fedclade.core import InputError
from fedclade.data.arrays import from_named_classes
from fedclade.data.columns import feature_names, features, read_categorical
from fedclade.data.federation import Federation
from fedclade.data.files.csv import read_csv
from fedclade.data.files.open_file import check_ending
from fedclade.data.files.parquet import read_parquet

TABLE_ENDINGS = (".csv", ".parquet")


def from_frame(
    table: object, *, client: str, label: str, test: float = 0.2, seed: int = 0, name: str = "own data"
) -> Federation:
    """A federation from a table with a row for each example; a share of each client's is held out for testing.

    The table is a pandas or polars frame, a pyarrow table, or a mapping of columns. `client` is the column
    that names the client of a row (text or whole numbers), `label` that of its class (text, whole or truth values).
    Every other column is a feature: numbers, taken in the columns' order, and not rescaled.

    Classes are the labels that occur, numbered in sorted order: see `federation.class_names`.
    """
    rows = arrow_table(table, name)
    if client == label:
        raise InputError("client and label are one column", where=name, got=repr(client), need="two columns")
    kept = feature_names(rows, (client, label), name)
    owners = read_categorical(rows.column(client), f"{name}, column {client!r}")
    labels = read_categorical(rows.column(label), f"{name}, column {label!r}")
    inputs = features(rows, kept, name)
    arrays = {owner: (inputs[index], labels.codes[index]) for owner, index in owners.positions().items()}
    return from_named_classes(arrays, labels.names, test=test, seed=seed, name=name)


def from_file(
    path: str | PathLike[str], *, client: str, label: str = "label", test: float = 0.2, seed: int = 0
) -> Federation:
    """A federation from a CSV or parquet file that holds the table that `from_frame` asks for."""
    file = Path(path)
    return from_frame(read_table(file, text=client), client=client, label=label, test=test, seed=seed, name=str(file))


def read_table(path: Path, *, text: str = "") -> pa.Table:
    """The table of a file, by its ending."""
    check_ending(path, TABLE_ENDINGS)
    return read_parquet(path) if path.suffix.lower() == ".parquet" else read_csv(path, text=text)


def arrow_table(table: object, where: str) -> pa.Table:
    """A table of any of the kinds that `from_frame` takes, as arrow has it."""
    try:
        if isinstance(table, Mapping):
            return pa.table(dict(table))
        if hasattr(table, "iloc"):  # pandas; its index is no column
            return pa.Table.from_pandas(table, preserve_index=False)
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table)
    except (pa.ArrowException, ValueError, TypeError) as error:
        got = ": ".join(map(str, error.args))[:300]
        need = "columns of one length, of one kind each"
        raise InputError("the table is not usable", where=where, got=got, need=need) from None
    need = "a frame, a pyarrow table, or a mapping of columns"
    raise InputError("this is not a table", where=where, got=type(table).__name__, need=need)
