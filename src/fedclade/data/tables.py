"""A user's table, with a column that names the client, as a federation."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa

from fedclade.data.arrays import from_named
from fedclade.data.columns import feature_names, features, named
from fedclade.data.federation import Federation
from fedclade.data.files.csv import read_csv
from fedclade.data.files.parquet import read_parquet
from fedclade.nouns import InputError

TABLES = (".csv", ".parquet")


def from_frame(
    table: object, *, client: str, label: str, test: float = 0.2, seed: int = 0, name: str = "own data"
) -> Federation:
    """A federation from a table with a row for each example; a share of each client's is held out for testing.

    The table is a pandas or polars frame, a pyarrow table, or a mapping of columns. `client` names the column that
    says whose the row is (text or whole numbers), `label` the column of its class (text, whole numbers, truth values).
    Every other column is a feature: numbers, taken in the columns' order, and not rescaled.

    Classes are the labels that occur, numbered in sorted order: `federation.class_names` says what was what.
    """
    rows = arrow(table, name)
    if client == label:
        raise InputError("client and label are one column", where=name, got=repr(client), need="two columns")
    kept = feature_names(rows, (client, label), name)
    owners = named(rows.column(client), f"{name}, column {client!r}")
    labels = named(rows.column(label), f"{name}, column {label!r}")
    inputs = features(rows, kept, name)
    order = np.argsort(owners.codes, kind="stable")
    ends = np.cumsum(np.bincount(owners.codes))[:-1]
    held = zip(owners.names, np.split(order, ends), strict=True)
    arrays = {owner: (inputs[index], labels.codes[index]) for owner, index in held}
    return from_named(arrays, labels.names, test=test, seed=seed, name=name)


def from_file(
    path: str | PathLike[str], *, client: str, label: str = "label", test: float = 0.2, seed: int = 0
) -> Federation:
    """A federation from a CSV or parquet file that holds the table that `from_frame` asks for."""
    file = Path(path)
    return from_frame(read_table(file, text=client), client=client, label=label, test=test, seed=seed, name=str(file))


def read_table(path: Path, *, text: str = "") -> pa.Table:
    """The table of a file, by its ending."""
    match path.suffix.lower():
        case ".csv":
            return read_csv(path, text=text)
        case ".parquet":
            return read_parquet(path)
        case other:
            raise InputError("the ending is not known", where=str(path), got=f'"{other}"', need=", ".join(TABLES))


def arrow(table: object, where: str) -> pa.Table:
    """A table of any of the kinds that `from_frame` takes, as arrow has it."""
    try:
        if isinstance(table, Mapping):
            return pa.table(dict(table))
        if hasattr(table, "iloc"):  # pandas; its index is no column
            return pa.Table.from_pandas(table, preserve_index=False)
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table)
    except (pa.ArrowException, ValueError, TypeError) as wrong:
        raise InputError(
            "the table is not usable",
            where=where,
            got=": ".join(map(str, wrong.args))[:300],
            need="columns of one length, of one kind each",
        ) from None
    raise InputError(
        "this is not a table",
        where=where,
        got=type(table).__name__,
        need="a frame, a pyarrow table, or a mapping of columns",
    )
