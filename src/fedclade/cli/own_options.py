"""The options of a user's own data: the same for every command that takes such data."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

OwnTable: TypeAlias = dict[str, object]
"""What was said of own data: keys of `[data]`."""
Columns = list[str] | None


def column_option(what: str) -> object:
    """An option that names columns."""
    return Annotated[
        Columns, typer.Option(metavar="COLUMN", help=f"{what}; repeatable, or with commas.", show_default=False)
    ]


OPTIONS: dict[str, object] = {
    "client": Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that names the client of a row.")],
    "label": Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the label; several, with commas: flags.")
    ],
    "task": Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="classification, regression, multi-label or reconstruction, where the label does not show it.",
        ),
    ],
    "loss": Annotated[str | None, typer.Option(metavar="mse|huber", help="The loss of a regression.")],
    "without": column_option("A column to leave out"),
    "only": column_option("A column to use, and no others"),
    "keep": column_option("A column to use though it looks like an id"),
    "categorical": column_option("A column of categories that look like numbers"),
    "numeric": column_option("A column of numbers; a cell that is none counts as empty"),
    "text": column_option("A column of free text, of which the most frequent words are used"),
    "dates": Annotated[
        str | None,
        typer.Option(metavar="day-first|month-first", help="How 05/06/2024 is read, where no other date shows it."),
    ],
    "prepare": Annotated[
        str | None, typer.Option(metavar="standard|none", help="none: numbers stay as they are, in their own units.")
    ],
    "classes": Annotated[
        str | None, typer.Option(metavar="A,B,... or FILE", help="All classes; or a file with one in each line.")
    ],
    "min_rows": Annotated[int | None, typer.Option(metavar="N", help="Set clients with fewer rows aside.")],
    "test": Annotated[float | None, typer.Option(metavar="SHARE", help="The share of rows to test on, 0.2.")],
    "split": Annotated[
        str | None,
        typer.Option(metavar="later|COLUMN", help='Test on later rows, or on those that a column calls "test".'),
    ],
    "resize": Annotated[
        str | None, typer.Option(metavar="WxH", help="Bring images to this width and height, such as 64x64.")
    ],
}
"""By the key of `[data]`."""


def takes_own_data(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in the place of its argument `own`, which gets a table of what was given."""

    @functools.wraps(command)
    def with_table(**arguments: object) -> None:
        given = {name: arguments.pop(name) for name in OPTIONS}
        command(**arguments, own={name: read_option(name, value) for name, value in given.items() if value is not None})

    found = inspect.signature(command)
    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in OPTIONS.items()
    ]
    others = [each.replace(kind=each.KEYWORD_ONLY) for each in found.parameters.values() if each.name != "own"]
    with_table.__signature__ = found.replace(parameters=[*others[:1], *own, *others[1:]])  # type: ignore[attr-defined]  # what typer reads
    with_table.__annotations__ = {each.name: each.annotation for each in [*others, *own]}
    return with_table


def read_option(name: str, value: object) -> object:
    """The value of an option as `[data]` has it."""
    from fedclade.core import InputError

    if name == "classes":
        return read_classes(str(value))
    if name == "resize":
        sides = str(value).lower().split("x")
        if len(sides) > 2 or not all(side.isdecimal() for side in sides):
            got, need = repr(value), "WIDTHxHEIGHT, such as 64x64"
            raise InputError("a size is not usable", where="--resize", got=got, need=need)
        return [int(side) for side in sides]
    return value


def read_classes(text: str) -> list[str]:
    """The names of `--classes`: of a file with a name in each line, or divided by commas."""
    from fedclade.core import InputError

    path = Path(text)
    if "," not in text and not path.is_file():
        need = "names with commas between, or a file that is there"
        raise InputError("the classes are not usable", where="--classes", got=repr(text), need=need)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines() if path.is_file() else text.split(",")
    except (OSError, UnicodeDecodeError) as error:
        need = "a file of text with a class in each line"
        raise InputError("the classes cannot be read", where="--classes", got=str(error), need=need) from None
    names = [line.strip() for line in lines if line.strip()]
    if len(set(names)) < max(len(names), 2):
        got, need = ", ".join(names[:10]), "at least two names, each once"
        raise InputError("the classes are not usable", where="--classes", got=got, need=need)
    return names
