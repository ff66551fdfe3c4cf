"""A user's own data as settings: `source = "own"` in an experiment, and what every other door takes.

[data]
source = "own"
path = "sites.csv"           # or a folder with an entry for each client
client = "site"
label = "fault"
"""

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from fedclade.core import InputError, settings
from fedclade.core.column_names import ColumnName, ColumnNames, LabelName
from fedclade.core.preparation import ColumnChoices
from fedclade.core.task import LossName, TaskChoice, TaskKind
from fedclade.data.entries import entries_of, is_hidden
from fedclade.data.federation import Federation
from fedclade.data.files.open_file import check_ending
from fedclade.data.folders import check_no_resize, read_folder
from fedclade.data.npz_tables import read_npz_file
from fedclade.data.tables import LABEL, RANDOM, TABLE_ENDINGS, no_client_error, read_table, table_federation

FILE_ENDINGS = (*TABLE_ENDINGS, ".npz")
OwnKind: TypeAlias = Literal["table", "images"]


@settings
class OwnData(ColumnChoices):
    """A table with a client column, or a folder with an entry for each client: see `from_file`, `from_folder`."""

    path: Annotated[str, Field(min_length=1)]
    """A file or a folder; relative to where the command is run."""
    client: ColumnName = ""
    """The column that names the client of a row. A table needs it; a folder has none."""
    label: LabelName = LABEL
    """The column of the label, or several columns of flags; empty: there is none, and groups can be found, but nothing
    can be trained, unless inputs are reconstructed."""
    task: TaskChoice = "auto"
    """What is learned; auto: what the label shows. Text, truth values and few whole numbers make a classification,
    numbers with a fraction and many whole ones a regression, several columns of 0 and 1 flags (`multi-label`)."""
    loss: LossName = "default"
    """Of a regression: `mse`, the default, or `huber`, by which errors beyond one deviation of the label count less."""
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of each client's examples that is held out."""
    split: Annotated[str, Field(min_length=1)] = RANDOM
    """Which rows are held out: random ones; the later ones of each client (`later`); or those that a column of this
    name says, which holds "train" and "test"."""
    min_rows: Annotated[int, Field(ge=2)] = 2
    """Clients with fewer rows are set aside."""
    classes: ColumnNames = ()
    """The names of all classes, in their order; none: those that occur."""
    resize: Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(max_length=2)] = ()
    """Width and height that images are brought to; none: they must be of one size."""

    @property
    def kind(self) -> OwnKind:
        """Whether these are images, by their folders; all else is rows."""
        return "images" if self.image_clients() else "table"

    @property
    def task_kind(self) -> TaskKind:
        """What is learned; where only the label shows it, the data are read. What is wrong with them is said later."""
        if self.task != "auto":
            return self.task
        if self.classes or self.kind == "images":
            return "classification"
        try:
            return self.federation(seed=0).task.kind
        except InputError:
            return "classification"

    def image_clients(self) -> int:
        """How many clients have a folder of images."""
        try:
            return sum(entry.is_dir() and not is_hidden(entry.name) for entry in os.scandir(self.path))
        except OSError:  # no folder, or none that can be read: that is said later
            return 0

    def federation(self, seed: int) -> Federation:
        """The clients with their examples; the seed decides which of them are held out.

        Rows of a table are no inputs yet: a preparation makes them such (`fedclade.data.load`).
        """
        path = Path(self.path)
        if not path.exists():
            what, need = "there is no such file or folder", "a table, an .npz file or a folder with data"
            do = f"paths start from {Path.cwd()}"
            raise InputError(what, where="data.path", got=repr(self.path), need=need, do=do)
        if os.path.isdir(path):
            if self.client:
                if any(path.iterdir()):
                    entries_of(path)  # or what is wrong with the folder
                need = "none: every entry of the folder is a client"
                raise InputError("a folder has no client column", where="data.client", got=repr(self.client), need=need)
            return replace(read_folder(path, self, seed), kind=self.kind)
        check_ending(path, FILE_ENDINGS)
        check_no_resize(self, path)
        if not self.client and path.suffix.lower() == ".npz":
            raise no_client_error(self.path)
        return read_own_file(self, seed, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def read_own_file(own: OwnData, seed: int, _: int) -> Federation:
    """The federation of a file, read once although it is asked for twice: for its task, and for a run.

    The last argument is when the file was changed.
    """
    path = Path(own.path)
    if path.suffix.lower() == ".npz":
        return replace(read_npz_file(path, own, seed), kind=own.kind)
    return replace(table_federation(read_table(path), own, seed=seed, name=own.path), kind=own.kind)
