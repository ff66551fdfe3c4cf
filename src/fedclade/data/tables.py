"""A user's table, with a column that names the client, as a federation whose rows are no inputs yet.

What inputs they become is decided by a preparation, which is fitted over all clients: see `fedclade.data.load`.
"""

import difflib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.core.preparation import MAX_TEXT
from fedclade.core.problems import Problem, problems_error
from fedclade.data.even_parts import even_out
from fedclade.data.examples import Part, Pool
from fedclade.data.federation import ClientData, Federation, Unprepared
from fedclade.data.files.csv import CSV_ENDINGS, read_csv
from fedclade.data.files.open_file import check_ending
from fedclade.data.files.parquet import read_parquet
from fedclade.data.labels import MAX_CLASSES, MAX_NAME_LENGTH, Categorical, number_labels
from fedclade.data.raw_table import (
    RawColumn,
    float_or_nan,
    read_column,
    read_raw_table,
    text_column,
)
from fedclade.data.shares import split

if TYPE_CHECKING:
    from fedclade.data.own import OwnData
    from fedclade.data.sites import SiteTables

TABLE_ENDINGS = (*CSV_ENDINGS, ".parquet")
MAX_MEASURED = 20  # different numbers with a fraction: more are a measurement, and no classes
MIN_ROWS_PER_CLASS = 2.0  # in the mean: fewer are names of rows, and no classes
MAX_SHOWN = 10  # names that a message shows
PARTS = {"train": 0, "training": 0, "test": 1, "testing": 1}
COLUMN_SETTINGS = ("without", "only", "keep", "categorical", "numeric", "text")
RANDOM, LATER = "random", "later"
ALL_ROWS = "all rows"  # a client in the place of those that nothing names


@dataclass
class Found:
    """What is found out about a table on the way, for one error and for the notes."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, column: str, why: str, do: str = "") -> None:
        self.problems.append(Problem(column, why, do))


def table_federation(
    table: pa.Table, own: "OwnData", *, seed: int, name: str, test: pa.Table | None = None
) -> Federation:
    """A federation from a table with a row for each example, and perhaps a second table with those to test on.

    Where something is wrong with a column, the federation has it in `unprepared.problems`: a preparation finds out what
    else is wrong, and one error says all of it.
    """
    found = Found()
    own = divide_names(own, table.column_names)
    table = with_own_names(table, found)
    rows_to_test = 0 if test is None else test.num_rows
    if test is not None:
        check_second_table(test, own, name)
        table = append_rows(table, with_own_names(test, found), name)
    if not table.num_rows:
        got = f"{table.num_rows} rows, {len(table.column_names)} columns"
        raise InputError("there are no examples", where=name, got=got, need="rows below the header")
    owners = read_names(table, own.client, "client", found)
    labels = read_names(table, own.label, "label", found) if own.label else None
    parts = read_parts(table, own, found)
    if test is not None:
        parts = (np.arange(table.num_rows) >= table.num_rows - rows_to_test).astype(np.int64)
    if own.client == own.label:
        found.add(own.client, "is both client and label", "name two columns")
    special = {each for each in (own.client, own.label, own.split) if each in table.column_names}
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
    kept, codes, class_names = usable_rows(owners, labels, parts, own, found)
    pool = Pool(np.zeros((table.num_rows, 0), np.float32), codes, table=columns, class_names=class_names)
    data = client_data(pool, owners, kept, own, parts, seed, found)
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
    return Federation(
        name, data, max(len(class_names), 1), class_names=class_names, unprepared=unprepared, notes=tuple(found.notes)
    )


def divide_names(own: "OwnData", columns: Collection[str]) -> "OwnData":
    """The same, with several names where one is said that is no column, but names with commas between: `a,b`."""
    divided: dict[str, Any] = {
        setting: tuple(
            part.strip() for name in getattr(own, setting) for part in ([name] if name in columns else name.split(","))
        )
        for setting in COLUMN_SETTINGS
    }  # of several fields
    return replace(own, **divided)


def with_own_names(table: pa.Table, found: Found) -> pa.Table:
    """The table with one column of each name: more are a problem, unless they have no name."""
    names = table.column_names
    for name, count in Counter(names).items():
        if len(name) > MAX_TEXT:
            found.add(name[:MAX_SHOWN], f"has a name of {len(name):,} characters", "give it a shorter one")
        if count > 1 and name.strip():
            found.add(name, f"is there {count} times", "give each column a name of its own")
    first = {name: place for place, name in reversed([*enumerate(names)])}
    return table.select(sorted(place for name, place in first.items() if len(name) <= MAX_TEXT))


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


def read_names(table: pa.Table, column: str, use: str, found: Found) -> RawColumn:
    """The column of clients, or of labels, as text; without any text, and a problem, if there is none that can be."""
    nothing = RawColumn("text", np.full(table.num_rows, np.nan))
    if column not in table.column_names:
        there = table.column_names
        near = [name for name in there if name.lower() == column.lower()] or (
            difflib.get_close_matches(column, there, n=1, cutoff=0.5)
        )
        shown = ", ".join(there[:MAX_SHOWN]) + (", ..." if len(there) > MAX_SHOWN else "")
        do = f'did you mean "{near[0]}"?' if near else f"name it: --{use} COLUMN; columns are: {shown}"
        found.add(column, f"is not there (--{use})", do)
        return nothing
    names = text_column(read_column(table.column(column), text=True))
    if names.kind == "unusable":
        found.add(column, f"{names.fault} (--{use})", "name a column of text or whole numbers")
        return nothing
    if not names.texts:
        found.add(column, f"is empty in every row (--{use})", "is this the right column?")
        return nothing
    for text in names.texts:
        if len(text) > MAX_NAME_LENGTH or not text.isprintable() or (use == "client" and text != text.strip()):
            do = f"a name has 1 to {MAX_NAME_LENGTH} printable characters, and no space around it"
            found.add(column, f"holds {text[:40]!r}, which is no usable name (--{use})", do)
            return nothing
    return names


def read_parts(table: pa.Table, own: "OwnData | SiteTables", found: Found) -> NDArray[np.int64] | None:
    """(rows,) 0 to learn from, 1 to be tested on, -1 for neither; None where this is not written in a column."""
    if own.split in (RANDOM, LATER):
        return None
    names = read_names(table, own.split, "split", found)
    places = [PARTS.get(text.lower(), -1) for text in names.texts]
    if set(places) != {0, 1}:
        if names.texts:
            shown = ", ".join(map(repr, names.texts[:MAX_SHOWN]))
            found.add(own.split, f"holds {shown} (--split)", 'it needs "train" and "test"')
        return None
    return np.array([*places, -1], np.int64)[names.codes()]


def usable_rows(
    owners: RawColumn, labels: RawColumn | None, parts: NDArray[np.int64] | None, own: "OwnData", found: Found
) -> tuple[NDArray[np.bool_], NDArray[np.int64], tuple[str, ...]]:
    """Which rows have all that they need, the labels as numbers, and their names."""
    count = len(owners.values)
    kept = np.ones(count, np.bool_)
    codes, names = np.zeros(count, np.int64), tuple[str, ...]()
    for usable, why in (
        (~owners.empty if owners.texts else kept, "name no client"),
        (~labels.empty if labels and labels.texts else kept, "have no label"),
        (kept if parts is None else parts >= 0, "are neither to learn from nor to test on"),
    ):
        if not usable.all():
            found.notes.append(f"{int((~usable).sum()):,} of {count:,} rows {why} and are set aside")
            kept = kept & usable
    if labels and labels.texts:
        codes, names = number_codes(labels, kept, own, found)
    return kept, codes, names


def number_codes(
    labels: RawColumn, kept: NDArray[np.bool_], own: "OwnData", found: Found
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
    elif len(names) > MAX_MEASURED and all(is_measured(name) for name in names) and any("." in name for name in names):
        do = "classes are needed: cut the numbers into ranges, or name another label"
        found.add(column, f"is a measurement and no class: {different}", do)
    elif len(names) > MAX_CLASSES or (len(names) > MAX_MEASURED and rows < MIN_ROWS_PER_CLASS * len(names)):
        found.add(column, f"has too many classes: {different}", "name another label")


def is_measured(name: str) -> bool:
    """Whether a label is written like a number."""
    return not np.isnan(float_or_nan(name))


def client_data(
    pool: Pool,
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
        learned, tested = cut_rows(rows, pool.labels, client, own, parts, seed)
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
    labels: NDArray[np.int64],
    client: ClientId,
    own: "OwnData | SiteTables",
    parts: NDArray[np.int64] | None,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a client to learn from, and those to test on."""
    if parts is not None:
        return rows[parts[rows] == 0], rows[parts[rows] == 1]
    if own.split == LATER:
        tested = min(max(round(own.test * len(rows)), 1), len(rows) - 1)
        return rows[:-tested], rows[-tested:]
    return split(rows, labels, own.test, (seed, "own", client))


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
