"""Labels as a user wrote them, and the numbers that they get: the same for every client."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import InputError

MOST_CLASSES = 100_000  # a net has an output for each; more are a mistake, such as a column of ids
LONGEST_NAME = 200  # characters
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")  # as Python writes a whole number


@dataclass(frozen=True, eq=False)
class Named:
    """Labels with their names: `names[codes[i]]` is the label of example i."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]
    """(examples,)"""


def numbered(found: Sequence[Named], where: str) -> tuple[list[NDArray[np.int64]], tuple[str, ...]]:
    """The labels of each part as numbers from 0, and the names of these: those in use, in sorted order.

    Names that are all whole numbers are sorted as numbers (2 before 10), others as text. So labels 0, 1, ..., C - 1
    keep their numbers.
    """
    used = {part.names[code] for part in found for code in np.unique(part.codes)}
    if len(used) > MOST_CLASSES:
        raise InputError(
            "there are too many classes",
            where=where,
            got=str(len(used)),
            need=f"at most {MOST_CLASSES}",
            do="is this the right column?",
        )
    for name in used:
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(
                "a label is not a usable name",
                where=where,
                got=repr(name[:40]),
                need=f"at most {LONGEST_NAME} printable characters",
            )
    names = sorted(used, key=int) if all(WHOLE.fullmatch(name) for name in used) else sorted(used)
    numbers = {name: number for number, name in enumerate(names)}
    tables = (np.array([numbers.get(name, -1) for name in part.names], np.int64) for part in found)
    return [table[part.codes] for table, part in zip(tables, found, strict=True)], tuple(names)
