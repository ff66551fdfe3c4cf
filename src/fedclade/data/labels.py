"""Labels as a user wrote them, and the numbers that they get: the same for every client."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.core.preparation import sort_labels

MAX_CLASSES = 100_000  # a net has an output for each; more are a mistake, such as a column of ids
MAX_NAME_LENGTH = 200  # characters


@dataclass(frozen=True, eq=False)
class Categorical:
    """Labels with their names: `names[codes[i]]` is the label of example i."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    """(examples,)"""

    def positions(self) -> dict[str, NDArray[np.int64]]:
        """The examples of each name, in their order."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.names)))[:-1]
        return dict(zip(self.names, np.split(order, ends), strict=True))


def number_labels(found: Sequence[Categorical], where: str) -> tuple[list[NDArray[np.int64]], tuple[str, ...]]:
    """The labels of each part as numbers from 0, and the names of these: those in use, in sorted order.

    Names that are all whole numbers are sorted as numbers (2 before 10), others as text. So labels 0, 1, ..., C - 1
    keep their numbers.
    """
    used = {part.names[code] for part in found for code in np.unique(part.codes)}
    if len(used) > MAX_CLASSES:
        got = str(len(used))
        need = f"at most {MAX_CLASSES}"
        raise InputError("there are too many classes", where=where, got=got, need=need, do="is this the right column?")
    for name in used:
        if len(name) > MAX_NAME_LENGTH or not name.isprintable():
            need = f"at most {MAX_NAME_LENGTH} printable characters"
            raise InputError("a label is not a usable name", where=where, got=repr(name[:40]), need=need)
    names = sort_labels(used)
    numbers = {name: number for number, name in enumerate(names)}
    tables = (np.array([numbers.get(name, -1) for name in part.names], np.int64) for part in found)
    return [table[part.codes] for table, part in zip(tables, found, strict=True)], names
