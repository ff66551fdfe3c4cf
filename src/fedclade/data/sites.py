"""Examples that stay at their sites: the server knows their form, or learns it from what sites tell of their tables."""

from typing import Annotated, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from fedclade.core import ClientId, InputError, settings
from fedclade.core.column_names import ColumnNames, LabelName
from fedclade.core.preparation import ColumnChoices
from fedclade.core.problems import problems_error
from fedclade.core.task import LossName, Task, TaskChoice, TaskKind
from fedclade.data.examples import Part
from fedclade.data.federation import ClientData
from fedclade.data.labels import MAX_CLASSES, Categorical, number_labels
from fedclade.data.raw_table import read_column, read_raw_table
from fedclade.data.table_names import Found, with_own_names
from fedclade.data.tables import RANDOM, cut_rows, read_parts
from fedclade.data.targets import TargetColumn, decide_target, label_columns, read_cells, target_pool

SEED = 0  # decides which rows a site holds out


@settings
class Sites:
    """Every site loads its own examples; the server knows only their form."""

    shape: Annotated[tuple[Annotated[int, Field(ge=1, le=10**9)], ...], Field(min_length=1, max_length=8)]
    """Of one example."""
    classes: Annotated[int, Field(ge=2, le=MAX_CLASSES)]
    """Labels are whole numbers from 0 to one less."""


@settings
class SiteTables(ColumnChoices):
    """Every site loads a table of its own, with the same columns; a preparation is fitted over all of them."""

    label: Annotated[LabelName, Field(min_length=1)]
    """The column of the label, or several columns of flags."""
    task: TaskChoice = "auto"
    """What is learned; auto: what sites say of the label's column, where that is clear."""
    loss: LossName = "default"
    """Of a regression: `mse`, the default, or `huber`."""
    classes: ColumnNames = ()
    """The names of all classes, in their order; none: those that sites tell."""
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of each site's rows that is held out."""
    split: Annotated[str, Field(min_length=1)] = RANDOM
    """Which rows are held out: random ones; the later ones (`later`); or those that a column of this name says, which
    holds "train" and "test"."""


SiteData: TypeAlias = ClientData | pa.Table
"""Examples, or a table of which the server says what becomes of it."""


def site_examples(data: SiteData, tables: SiteTables | None, client: ClientId) -> ClientData:
    """The examples of a site; rows of a table are no inputs yet."""
    if not isinstance(data, pa.Table):
        return data
    if tables is None:
        need = "arrays of its shape, or an experiment with label in [data]"
        raise InputError("the site has a table, and the experiment says none", where=client, got="a table", need=need)
    found = Found()
    table = with_own_names(data, found)
    labels = label_columns(tables.label, table.column_names)
    parts = read_parts(table, tables, found)
    target, known = site_target(table, tables, found)
    features = [name for name in table.column_names if name not in (*labels, tables.split)]
    columns = read_raw_table(
        table, features, categorical=(*tables.categorical, *tables.text), numeric=tables.numeric, keep_text=True
    )
    if found.problems:
        raise problems_error(found.problems, client)
    rows = np.flatnonzero(known)
    if len(rows) < 2:
        got = f"{len(rows)} rows with a label"
        raise InputError("there are too few examples", where=client, got=got, need="at least 2")
    pool = target_pool(target, columns, tables.label)
    learned, tested = cut_rows(rows, target.strata, client, tables, parts, SEED)
    if not len(learned) or not len(tested):
        got = f"{len(learned)} rows to learn from, {len(tested)} to test on"
        raise InputError("there are too few examples", where=client, got=got, need="at least 1 of each")
    return ClientData(Part(pool, learned), Part(pool, tested))


def site_target(table: pa.Table, tables: SiteTables, found: Found) -> tuple[TargetColumn, NDArray[np.bool_]]:
    """The label of each row of one site, and which rows have one.

    A site has only some of all classes; and what it sees of its label alone does not decide what is learned.
    """
    cells = read_cells(table, tables, found)
    if cells.numbers:
        return decide_target(cells, table, cells.has_label, tables, found), cells.has_label
    rows = np.flatnonzero(cells.has_label)
    texts = cells.names.texts
    numbers, names = np.zeros(table.num_rows, np.int64), tuple[str, ...]()
    if not texts or found.problems:
        return TargetColumn(Task(), numbers, numbers), cells.has_label
    if tables.task == "auto" and not tables.classes:  # the server asks what the column holds
        column = read_column(table.column(tables.label))
        return TargetColumn(Task(), numbers, numbers, column), cells.has_label
    (codes,), names = number_labels([Categorical(texts, cells.names.codes()[rows])], tables.label)
    numbers[rows] = codes
    kind: TaskKind = "reconstruction" if tables.task == "reconstruction" else "classification"
    return TargetColumn(Task(kind=kind, count=max(len(names), 1), names=names), numbers, numbers), cells.has_label
