"""The files of a source: in FEDCLADE_DATA, then in the user's cache, then on the network."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from platformdirs import user_cache_dir

from fedclade.core import InputError
from fedclade.data.sources.download import fetch

VARIABLE = "FEDCLADE_DATA"


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files of one source, and the folders in which they may lie."""

    source: str
    layouts: tuple[tuple[str, ...], ...]
    """The names of files that are enough together, in one folder; the first layout that is complete is taken."""
    folders: tuple[str, ...]
    """The folders of FEDCLADE_DATA to look in, in this order; "" is FEDCLADE_DATA itself."""
    origin: str
    """The place from which a person gets the files."""
    official: Mapping[str, str] = field(default_factory=dict)
    """The files that can be fetched: name -> md5 as published. A layout of its own."""
    mirrors: tuple[str, ...] = ()
    """Addresses before the file name, tried in this order."""
    pickle_files: tuple[str, ...] = ()
    """Files that hold the same examples in a form that only pickle reads."""

    @property
    def cache(self) -> Path:
        """The folder for fetched files."""
        return Path(user_cache_dir("fedclade")) / self.source

    def search_folders(self) -> Iterator[Path]:
        """The folders to look in, in their order."""
        given = data_folder()
        if given is not None:
            yield from (given / folder for folder in self.folders)
        yield self.cache

    def find(self) -> dict[str, Path] | None:
        """File name -> path for the first layout that is complete in one folder."""
        for place in self.search_folders():
            for layout in self.layouts:
                if all(os.path.exists(place / name) for name in layout):
                    return {name: place / name for name in layout}
        return None

    def find_or_fetch(self) -> dict[str, Path]:
        """The same, after fetching the official files if none were here."""
        found = self.find()
        if found is not None:
            return found
        if not self.official:
            raise self.missing_error()
        for name, md5 in self.official.items():
            try:
                fetch(name, md5, self.mirrors, self.cache)
            except OSError as error:
                raise self.missing_error(str(error)) from None
        return {name: self.cache / name for name in self.official}

    def location(self) -> str:
        """The folder in which the files are, or in which they would be looked for first."""
        found = self.find()
        return str(next(iter(found.values())).parent if found else next(self.search_folders()))

    def missing_error(self, reason: str = "") -> InputError:
        """The error that says which files to put where."""
        given = data_folder()
        folder = self.folders[0]
        theirs = str(given / folder) if given else f"the folder {folder} of a folder that {VARIABLE} names"
        got = [*self.pickle_messages(), *self.incomplete_messages(), *([reason] if reason else [])]
        need = " or ".join(" + ".join(layout) for layout in self.layouts)
        do = f"put them in {theirs} or in {self.cache}; they come from {self.origin}"
        return InputError("the files are not here", where=f"source {self.source}", got=", ".join(got), need=need, do=do)

    def pickle_messages(self) -> list[str]:
        """The files that are refused, for the error."""
        there = (place / name for place in self.search_folders() for name in self.pickle_files)
        return [f"{path}, which only pickle reads" for path in there if os.path.exists(path)]

    def incomplete_messages(self) -> list[str]:
        """The folder that lacks the fewest files of a layout, if one has some of them."""
        lacking = []
        for place in self.search_folders():
            for layout in self.layouts:
                absent = [name for name in layout if not os.path.exists(place / name)]
                if len(absent) < len(layout):
                    lacking.append((len(absent), f"{place} without {', '.join(absent)}"))
        return [min(lacking, key=itemgetter(0))[1]] if lacking else []


def data_folder() -> Path | None:
    """The folder that FEDCLADE_DATA names, if it is set."""
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise InputError(f"{VARIABLE} is not a folder", where="the environment", got=given, need="a folder with data")
    return folder
