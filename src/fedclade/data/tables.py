"""A user's table, with a column that names the client, as a federation whose rows are no inputs yet.

What inputs they become is decided by a preparation, which is fitted over all clients: see `fedclade.data.load`.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.core.problems import file_problem, problems_error
from fedclade.core.task import Labels
from fedclade.data.even_parts import even_out
from fedclade.data.examples import Part, Pool
from fedclade.data.federation import ClientData, Federation, Unprepared
from fedclade.data.files.csv import CSV_ENDINGS, read_csv
from fedclade.data.files.open_file import check_ending
from fedclade.data.files.parquet import read_parquet
from fedclade.data.raw_table import (
    RawColumn,
    read_column,
    read_raw_table,
    text_column,
)
from fedclade.data.shares import split
from fedclade.data.table_names import MAX_SHOWN, Found, read_names, with_own_names
from fedclade.data.targets import LabelCells, decide_target, label_columns, read_cells, target_pool

if TYPE_CHECKING:
    from fedclade.data.own import OwnData
    from fedclade.data.sites import SiteTables

TABLE_ENDINGS = (*CSV_ENDINGS, ".parquet")
PARTS = {"train": 0, "training": 0, "test": 1, "testing": 1}
COLUMN_SETTINGS = ("without", "only", "keep", "categorical", "numeric", "text")
RANDOM, LATER = "random", "later"
LABEL = "label"  # where no other column is named
ALL_ROWS = "all rows"  # a client in the place of those that nothing names


def table_federation(
    table: pa.Table,
    own: "OwnData",
    *,
    seed: int,
    name: str,
    test: pa.Table | None = None,
    found: Found | None = None,
) -> Federation:
    """A federation from a table with a row for each example, and perhaps a second table with those to test on.

    `found` is what is known of the table already. Where something is wrong with a column, the federation has it in
    `unprepared.problems`: a preparation finds out what else is wrong, and one error says all of it.
    """
    found = found or Found()
    own = divide_names(own, table.column_names)
    table = with_own_names(table, found)
    rows_to_test = 0 if test is None else test.num_rows
    if test is not None:
        check_second_table(test, own, name)
        table = append_rows(table, with_own_names(test, found), name)
    if not table.num_rows:
        if found.problems:
            raise problems_error(found.problems, name)
        got = f"{table.num_rows} rows, {len(table.column_names)} columns"
        raise InputError("there are no examples", where=name, got=got, need="rows below the header")
    owners = read_owners(table, own, name, found)
    own = without_absent_label(own, table.column_names)
    cells = read_cells(table, own, found) if own.label else None
    labels = label_columns(own.label, table.column_names) if own.label else ()
    parts = read_parts(table, own, found)
    if test is not None:
        parts = (np.arange(table.num_rows) >= table.num_rows - rows_to_test).astype(np.int64)
    if own.client in labels:
        found.add(own.client, "is both client and label", "name two columns")
    special = {each for each in (own.client, *labels, own.split) if each in table.column_names}
    choices = own
    for setting in COLUMN_SETTINGS:
        chosen = getattr(own, setting)
        for column in sorted(special.intersection(chosen)):
            found.add(column, f"is the column of clients, labels or parts (--{setting})", "name another column")
            rest: dict[str, Any] = {
                setting: tuple(name for name in chosen if name not in special)
            }  # one of several fields
            choices = replace(choices, **rest)
    features = [column for column in table.column_names if column not in special]
    columns = read_raw_table(table, features, categorical=(*own.categorical, *own.text), numeric=own.numeric)
    kept = usable_rows(owners, cells, parts, found)
    target = decide_target(cells, table, kept, own, found)
    pool = target_pool(target, columns, own.label)
    data = client_data(pool, target.strata, owners, kept, own, parts, seed, found)
    if own.split == RANDOM:
        data = even_out(data, seed)
    if owners.texts and len(data) < 2:
        say_one_client(owners, own, len(data), found)
    if not features and not found.problems:
        what, got = "there is no column of features", f"{', '.join(map(repr, table.column_names))}"
        raise InputError(what, where=name, got=got, need="a column beside client and label")
    if not data and features and table.num_rows >= 2:  # who has which row is not known: one client stands for all
        data = {ALL_ROWS: ClientData(*(Part(pool, part) for part in np.split(np.arange(table.num_rows), [-1])))}
    if not data or not features:
        raise problems_error(found.problems, name)
    unprepared = Unprepared(choices, own.client, own.label, tuple(found.problems))
    task, notes = target.task, tuple(found.notes)
    return Federation(
        name, data, task.count, class_names=pool.class_names, unprepared=unprepared, task=task, notes=notes
    )


def read_owners(table: pa.Table, own: "OwnData", name: str, found: Found) -> RawColumn:
    """The client of each row."""
    if own.client:
        return read_names(table, own.client, "client", found)
    found.problems.append(file_problem(no_client_error(name)))
    return RawColumn("text", np.full(table.num_rows, np.nan))


def no_client_error(name: str) -> InputError:
    """The error for a table of which nobody says which column names the client."""
    got, need = f"no name, for the table {name}", "the column that names the client of a row"
    do = 'give it: --client COLUMN, or client = "..." in [data]'
    return InputError("client is missing", where="data.client", got=got, need=need, do=do)


def without_absent_label(own: "OwnData", columns: Collection[str]) -> "OwnData":
    """The same without a label, where inputs are to be reconstructed and the usual column of labels is not there."""
    absent = own.task == "reconstruction" and own.label == LABEL and LABEL not in columns
    return replace(own, label="") if absent else own


def divide_names(own: "OwnData", columns: Collection[str]) -> "OwnData":
    """The same, with several names where one is said that is no column, but names with commas between: `a,b`."""
    divided: dict[str, Any] = {
        setting: tuple(
            part.strip() for name in getattr(own, setting) for part in ([name] if name in columns else name.split(","))
        )
        for setting in COLUMN_SETTINGS
    }  # of several fields
    return replace(own, **divided)


def check_second_table(test: pa.Table, own: "OwnData", name: str) -> None:
    """An error if a table with the rows to test on has none, or if it is said elsewhere which rows these are."""
    if not test.num_rows:
        raise InputError("there are no rows to test on", where=name, got="0 rows", need="rows of a client each")
    if own.split != RANDOM:
        got, need = f"a second table, and split = {own.split!r}", "one of both"
        raise InputError("the rows to test on are given twice", where=name, got=got, need=need)


def append_rows(table: pa.Table, test: pa.Table, name: str) -> pa.Table:
    """Both tables as one."""
    if odd := sorted(set(table.column_names) ^ set(test.column_names)):
        got = ", ".join(map(repr, odd[:MAX_SHOWN]))
        raise InputError("the rows to test on have other columns", where=name, got=got, need="the same columns")
    return concat_tables([table, test.select(table.column_names)])


def concat_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables with the same columns, none twice, as one; a column that is of several kinds becomes text."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        names = tables[0].column_names
        columns = [concat_columns([table.column(name) for table in tables]) for name in names]
        return pa.table(columns, names)


def concat_columns(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Columns as one; as text if they are of several kinds."""
    try:
        parts = [pa.table([column], [""]) for column in columns]
        return pa.concat_tables(parts, promote_options="permissive").column(0)
    except pa.ArrowException:
        found = [text_column(read_column(column, text=True)) for column in columns]
    for column, names in zip(columns, found, strict=True):
        if names.kind == "unusable":  # an empty column of its type is unusable for the same reason
            return pa.chunked_array([pa.nulls(sum(map(len, columns)), column.type)])
    return pa.chunked_array(
        [pa.array([names.texts[code] if code >= 0 else None for code in names.codes()], pa.string()) for names in found]
    )


def read_parts(table: pa.Table, own: "OwnData | SiteTables", found: Found) -> NDArray[np.int64] | None:
    """(rows,) 0 to learn from, 1 to be tested on, -1 for neither; None where this is not written in a column."""
    if own.split in (RANDOM, LATER):
        return None
    names = read_names(table, own.split, "split", found)
    places = [PARTS.get(text.lower(), -1) for text in names.texts]
    if not {0, 1} <= set(places):
        if names.texts:
            shown = ", ".join(map(repr, names.texts[:MAX_SHOWN]))
            found.add(own.split, f"holds {shown} (--split)", 'it needs "train" and "test"')
        return None
    if others := [text for text, place in zip(names.texts, places, strict=True) if place < 0]:
        shown = ", ".join(map(repr, others[:MAX_SHOWN])) + (", ..." if len(others) > MAX_SHOWN else "")
        found.notes.append(f"of column {own.split!r} (--split) {shown} is taken for neither train nor test")
    return np.array([*places, -1], np.int64)[names.codes()]


def usable_rows(
    owners: RawColumn, cells: LabelCells | None, parts: NDArray[np.int64] | None, found: Found
) -> NDArray[np.bool_]:
    """(rows,): which rows have all that they need."""
    count = len(owners.values)
    kept = np.ones(count, np.bool_)
    for usable, why in (
        (~owners.empty if owners.texts else kept, "name no client"),
        (cells.has_label if cells is not None else kept, "have no label"),
        (kept if parts is None else parts >= 0, "are neither to learn from nor to test on"),
    ):
        if not usable.all():
            found.notes.append(f"{int((~usable).sum()):,} of {count:,} rows {why} and are set aside")
            kept = kept & usable
    return kept


def client_data(
    pool: Pool,
    strata: Labels,
    owners: RawColumn,
    kept: NDArray[np.bool_],
    own: "OwnData",
    parts: NDArray[np.int64] | None,
    seed: int,
    found: Found,
) -> dict[ClientId, ClientData]:
    """The rows of every client that has enough of them, some held out."""
    codes = np.where(kept, owners.codes(), -1)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes + 1, minlength=len(owners.texts) + 1))
    data: dict[ClientId, ClientData] = {}
    small: list[ClientId] = []
    one_sided: list[ClientId] = []
    for client, rows in sorted(zip(owners.texts, np.split(order, ends)[1:], strict=False)):
        if len(rows) < own.min_rows:
            small.append(client)
            continue
        learned, tested = cut_rows(rows, strata, client, own, parts, seed)
        if not len(learned) or not len(tested):
            one_sided.append(client)
            continue
        data[client] = ClientData(Part(pool, learned), Part(pool, tested))
    for clients, why in (
        (small, f"with fewer than {own.min_rows} rows"),
        (one_sided, "without rows to learn from or to test on"),
    ):
        if clients:
            shown = ", ".join(clients[:MAX_SHOWN]) + (", ..." if len(clients) > MAX_SHOWN else "")
            many = "client" if len(clients) == 1 else "clients"
            found.notes.append(f"{len(clients):,} {many} {why} set aside: {shown}")
    return data


def cut_rows(
    rows: NDArray[np.int64],
    strata: Labels,
    client: ClientId,
    own: "OwnData | SiteTables",
    parts: NDArray[np.int64] | None,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a client to learn from, and those to test on; strata as in `TargetColumn`."""
    if parts is not None:
        return rows[parts[rows] == 0], rows[parts[rows] == 1]
    if own.split == LATER:
        tested = min(max(round(own.test * len(rows)), 1), len(rows) - 1)
        return rows[:-tested], rows[-tested:]
    return split(rows, strata, own.test, (seed, "own", client))


def say_one_client(owners: RawColumn, own: "OwnData", count: int, found: Found) -> None:
    """Add a problem where there are too few clients."""
    named = len(owners.texts)
    got = f"names {named} client{'' if named == 1 else 's'}"
    if count < named:
        got += f", {count} of them with {own.min_rows} rows that can be used"
    lower = count < named and own.min_rows > 2
    do = f"lower --min-rows ({own.min_rows})" if lower else "is this the right column?"
    found.add(own.client, f"{got}: a federation needs at least 2", do)


def read_table(path: Path) -> pa.Table:
    """The table of a file, by its ending."""
    check_ending(path, TABLE_ENDINGS)
    return read_parquet(path) if path.suffix.lower() == ".parquet" else read_csv(path)
