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
    error: InputError | None = None
    """What is wrong with a whole file: raised as it is where there is nothing else."""

    def __str__(self) -> str:
        return f"{self.column[:MAX_NAME]!r} {self.why}"[:MAX_TEXT] if self.error is None else self.why[:MAX_TEXT]


def file_problem(error: InputError, name: str = "") -> Problem:
    """The problem of a file that cannot be used, or of all files together."""
    got = f" (got {error.got})" if error.got else ""
    return Problem("", f"{name}: {error.what}{got}" if name else f"{error.what}{got}", error.do, error)


def problems_error(problems: Sequence[Problem], where: str) -> InputError:
    """One error that names every problem."""
    advice = "; ".join(dict.fromkeys(problem.do for problem in problems[:MAX_SHOWN] if problem.do))
    if len(problems) == 1 and problems[0].error is not None:
        return problems[0].error
    if len(problems) == 1:
        return InputError(f"column {problems[0]}", where=where, do=advice)
    shown = "; ".join(str(problem) for problem in problems[:MAX_SHOWN])
    more = f"; and {len(problems) - MAX_SHOWN} more" if len(problems) > MAX_SHOWN else ""
    all_columns = all(problem.error is None for problem in problems)
    what = f"{len(problems)} columns cannot be used" if all_columns else f"there are {len(problems)} problems"
    return InputError(what, where=where, got=shown + more, do=advice)


def shell_word(name: str) -> str:
    """A name as a shell takes it."""
    return name if re.fullmatch(r"[\w.-]+", name) else "'" + name.replace("'", "'\\''") + "'"
