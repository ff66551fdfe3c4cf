"""A user's own data, ready to be used: read, prepared through the fleet, with notes of what was set aside.

The one file of this room that knows rooms above: a preparation is asked of a fleet, also in this process. The room's
front names these functions and loads them when they are asked for.
"""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from fedclade.core import FedcladeError, InputError, Round
from fedclade.core.settings import build_settings
from fedclade.core.settings_help import list_settings
from fedclade.core.task import LossName, TaskChoice
from fedclade.data import Federation, OwnData
from fedclade.data.frames import arrow_table
from fedclade.data.prepared import prepare_federation
from fedclade.data.tables import table_federation
from fedclade.fleet.tables import table_fleet
from fedclade.preparation import fit_preparation

ColumnList = tuple[str, ...] | list[str]


LISTS = ("classes", "without", "only", "keep", "categorical", "numeric", "text")
OPTIONS_TITLE = "Options, which are keywords, with their defaults:"
PARAMETERS = ("path", "client", "label", "test")  # that stand in the functions' own texts


class TableOptions(TypedDict, total=False):
    """What can be said of a table; what is left out is found out, or has the default of `[data]` in TOML."""

    task: TaskChoice
    loss: LossName
    split: str
    min_rows: int
    classes: ColumnList
    without: ColumnList
    only: ColumnList
    keep: ColumnList
    categorical: ColumnList
    numeric: ColumnList
    text: ColumnList
    dates: Literal["auto", "day-first", "month-first"]
    prepare: Literal["standard", "none"]


class FileOptions(TableOptions, total=False):
    """The same for a file or a folder, which may hold images."""

    resize: tuple[int, int]


def prepare(federation: Federation) -> Federation:
    """The same clients with inputs, by a preparation that is fitted through their fleet."""
    raw = federation.unprepared
    if raw is None:
        return federation
    fleet = table_fleet(federation)
    preparation = fit_preparation(
        fleet,
        raw.choices,
        Round(0, 0),
        where=federation.name,
        task=federation.task,
        client=raw.client,
        label=raw.label,
        problems=raw.problems,
    )
    if wrong := [*fleet.ledger.refused]:  # in this process nothing fails but the code
        raise FedcladeError(f'client "{wrong[0].client}" failed', where=wrong[0].verb, got=wrong[0].reason)
    made = prepare_federation(federation, preparation)
    return replace(made, preparation_bytes=fleet.ledger.totals())


@list_settings(OPTIONS_TITLE, OwnData, without=[*PARAMETERS, "resize"])
def from_frame(
    table: object,
    *,
    client: str,
    label: str | ColumnList,
    test: object = 0.2,
    seed: int = 0,
    name: str = "own data",
    **options: Unpack[TableOptions],
) -> Federation:
    """A federation from a table with a row for each example.

    The table is a pandas or polars frame, a pyarrow table, a Dataset of Hugging Face, a list of dicts, or a mapping of
    columns. `client` is the column that names the client of a row, `label` that of its label. Text is a class, and `01`
    and `1` are two; numbers with a fraction make a regression; several columns of 0 and 1 are flags: `task` says what
    is learned where that is not clear. `test` is the share of each client's rows that is held out, by `seed`;
    or a second table with these rows. `name` is what errors and reports call it.

    Every other column becomes inputs, in the way of the preparation that is fitted over all clients: numbers less their
    mean and over their deviation, an input for each category, parts of dates. Ids are left out. `federation.notes` says
    what was left out and set aside, `federation.preparation` how each input is made.
    """
    share = float(test) if isinstance(test, Real) else 0.2
    own = own_data(name, {**options, "client": client, "label": label, "test": share})
    rows = arrow_table(table, name)
    rest = None if isinstance(test, Real) else arrow_table(test, f"{name}, test")
    made = table_federation(rows, own, seed=checked_seed(seed, name), name=name, test=rest)
    return prepare(replace(made, kind="table"))


@list_settings(OPTIONS_TITLE, OwnData, without=PARAMETERS)
def from_file(
    path: str | PathLike[str],
    *,
    client: str,
    label: str | ColumnList = "label",
    test: float = 0.2,
    seed: int = 0,
    **options: Unpack[FileOptions],
) -> Federation:
    """A federation from a file that holds the table that `from_frame` asks for.

    CSV, separated by commas, semicolons or tabs, also packed (.csv.gz); parquet; or .npz with arrays of these names.
    `client`, `label` and `test` are as in `from_frame`; `seed` decides which rows are held out.
    """
    own = own_data(str(Path(path)), {**options, "client": client, "label": label, "test": test})
    return prepare(own.federation(checked_seed(seed, own.path)))


@list_settings(OPTIONS_TITLE, OwnData, without=PARAMETERS)
def from_folder(
    path: str | PathLike[str],
    *,
    test: float = 0.2,
    seed: int = 0,
    label: str | ColumnList = "label",
    **options: Unpack[FileOptions],
) -> Federation:
    """A federation from a folder with an entry for each client; a share of its examples is held out for testing.

    Either every client has a folder with a folder of images for each class, `client/class/*.png` (jpg, jpeg, webp,
    bmp), read as grey if all are grey, else as colour; transparency is dropped and a camera's note on how to turn an
    image is not followed. They are of one size, or brought to one by `resize=(width, height)`. Or every client has a
    file: `client.npz` (arrays `inputs` and `labels`, or `x` and `y`), `client.csv` or `client.parquet`, with a column
    `label`; columns become inputs as in `from_frame`.

    Classes are the labels that occur with any client, numbered in sorted order: see `federation.class_names`. Hidden
    files are left out. `test` is the share of each client's examples that is held out, `seed` decides which.
    """
    own = own_data(str(Path(path)), {**options, "label": label, "test": test})
    if not Path(path).is_dir():
        raise InputError("this is not a folder", where=str(path), need="a folder with an entry for each client")
    return prepare(own.federation(checked_seed(seed, own.path)))


def load_own(path: Path, table: Mapping[str, object], seed: int = 0) -> Federation:
    """A federation from a file or a folder, by the keys of `[data]`."""
    return prepare(own_data(str(path), dict(table)).federation(seed))


def own_data(path: str, values: dict[str, object]) -> OwnData:
    """The settings of own data; a name does for a list of one, and a whole number for the name of a column."""
    lists = {name: [value] if name in LISTS and isinstance(value, str) else value for name, value in values.items()}
    names = {name: str(value) for name, value in values.items() if name in ("client", "label") and type(value) is int}
    return build_settings(OwnData, {"path": path, **lists, **names}, where="data")


def checked_seed(seed: int, where: str) -> int:
    """The seed, or an error."""
    if not hasattr(seed, "__index__") or seed < 0:
        raise InputError("the seed is not usable", where=where, got=repr(seed), need="a whole number, 0 or more")
    return seed
