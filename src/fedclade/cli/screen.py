"""The output of commands: tables and lines for people, one JSON object for machines, progress while they work."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fedclade.runs.loop import ProgressCallback

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result.")]


def emit(value: object) -> None:
    """One JSON object on stdout."""
    from fedclade.store.json_values import json_value

    print(json.dumps(json_value(value), allow_nan=False))


def emit_csv(rows: Sequence[Mapping[str, object]]) -> None:
    """Rows with the same keys as CSV on stdout; what is not known is empty."""
    import csv

    writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def printable(text: str) -> str:
    """The text without control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """A table on stdout; the first `left` columns are text, the others numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        text = number < left
        drawn.add_column(heading, justify="left" if text else "right", no_wrap=not text or number == 0)
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))  # names are text, never markup
    wide = sys.stdout.isatty()
    Console(width=None if wide else 200, highlight=False, soft_wrap=not wide).print(drawn)


def print_entries(
    entries: Mapping[str, object],
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    as_json: bool,
    quiet: bool,
    *,
    left: int = 3,
) -> None:
    """Entries by name: one JSON object for machines, the names alone if quiet, else a table."""
    if as_json:
        emit(entries)
    elif quiet:
        print("\n".join(entries))
    else:
        print_table(headings, rows, left=left)


def print_notes(notes: Sequence[str]) -> None:
    """What a user should know of the data, a line each."""
    for note in notes:
        print(printable(f"Note: {note}"))


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Callable[[str], "ProgressCallback"]]:
    """Progress of runs: a bar for each on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: lambda _: None
        return
    from fedclade.runs.progress_display import progress_bars as bars_on_terminal

    with bars_on_terminal() as bar_for:
        yield bar_for
