"""A user's own data as settings: `source = "own"` in an experiment."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fedclade.core import InputError, settings
from fedclade.data.federation import Federation
from fedclade.data.folders import from_folder
from fedclade.data.tables import from_file


@settings
class OwnData:
    """A table with a client column, or a folder with an entry for each client: see `from_file`, `from_folder`."""

    path: Annotated[str, Field(min_length=1)]
    """A file or a folder; relative to where the command is run."""
    client: str = ""
    """The column that names the client of a row. A table needs it; a folder has none."""
    label: Annotated[str, Field(min_length=1)] = "label"
    """The column of the classes."""
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of each client's examples that is held out."""

    def federation(self, seed: int) -> Federation:
        """The clients with their examples; the seed decides which of them are held out."""
        if not os.path.exists(self.path):
            what, need = "there is no such file or folder", "a table or a folder with data"
            do = f"paths start from {Path.cwd()}"
            raise InputError(what, where="data.path", got=repr(self.path), need=need, do=do)
        if os.path.isdir(self.path):
            if self.client:
                need = "none: every entry of the folder is a client"
                raise InputError("a folder has no client column", where="data.client", got=repr(self.client), need=need)
            return from_folder(self.path, test=self.test, seed=seed, label=self.label)
        if not self.client:
            got, need = f"no name, for the table {self.path}", "the column that names the client of a row"
            do = 'set client = "..." in [data]'
            raise InputError("client is missing", where="data.client", got=got, need=need, do=do)
        return from_file(self.path, client=self.client, label=self.label, test=self.test, seed=seed)
