"""Everything that is wrong with a table, in one error."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fedclade.core.errors import InputError

MAX_SHOWN = 20  # problems that an error names
MAX_TEXT = 200  # characters of one
MAX_NAME = 60  # characters of a column's name


@dataclass(frozen=True)
class Problem:
    """What is wrong with one column, and what to do."""

    column: str
    why: str
    """It goes on from the column's name: "holds lists"."""
    do: str = ""

    def __str__(self) -> str:
        return f"{self.column[:MAX_NAME]!r} {self.why}"[:MAX_TEXT]


def problems_error(problems: Sequence[Problem], where: str) -> InputError:
    """One error that names every problem."""
    advice = "; ".join(dict.fromkeys(problem.do for problem in problems[:MAX_SHOWN] if problem.do))
    if len(problems) == 1:
        return InputError(f"column {problems[0]}", where=where, do=advice)
    shown = "; ".join(str(problem) for problem in problems[:MAX_SHOWN])
    more = f"; and {len(problems) - MAX_SHOWN} more" if len(problems) > MAX_SHOWN else ""
    return InputError(f"{len(problems)} columns cannot be used", where=where, got=shown + more, do=advice)


def shell_word(name: str) -> str:
    """A name as a shell takes it."""
    return name if re.fullmatch(r"[\w.-]+", name) else "'" + name.replace("'", "'\\''") + "'"
