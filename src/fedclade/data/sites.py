"""Examples that stay at their sites: the server knows their form, or learns it from what sites tell of their tables."""

from typing import Annotated, TypeAlias

import numpy as np
import pyarrow as pa
from pydantic import Field

from fedclade.core import ClientId, InputError, settings
from fedclade.core.preparation import ColumnChoices, ColumnName, ColumnNames
from fedclade.core.problems import problems_error
from fedclade.data.examples import Part, Pool
from fedclade.data.federation import ClientData
from fedclade.data.labels import MAX_CLASSES, Categorical, number_labels
from fedclade.data.raw_table import read_raw_table
from fedclade.data.tables import RANDOM, Found, cut_rows, read_names, read_parts, with_own_names

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

    label: Annotated[ColumnName, Field(min_length=1)]
    """The column of the classes."""
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
    labels = read_names(table, tables.label, "label", found)
    parts = read_parts(table, tables, found)
    features = [name for name in table.column_names if name not in (tables.label, tables.split)]
    columns = read_raw_table(
        table, features, categorical=(*tables.categorical, *tables.text), numeric=tables.numeric, keep_text=True
    )
    if found.problems:
        raise problems_error(found.problems, client)
    rows = np.flatnonzero(~labels.empty)
    if len(rows) < 2:
        got = f"{len(rows)} rows with a label"
        raise InputError("there are too few examples", where=client, got=got, need="at least 2")
    (codes,), names = number_labels([Categorical(labels.texts, labels.codes()[rows])], client)
    numbers = np.zeros(table.num_rows, np.int64)
    numbers[rows] = codes
    pool = Pool(np.zeros((table.num_rows, 0), np.float32), numbers, table=columns, class_names=names)
    learned, tested = cut_rows(rows, pool.labels, client, tables, parts, SEED)
    if not len(learned) or not len(tested):
        got = f"{len(learned)} rows to learn from, {len(tested)} to test on"
        raise InputError("there are too few examples", where=client, got=got, need="at least 1 of each")
    return ClientData(Part(pool, learned), Part(pool, tested))
