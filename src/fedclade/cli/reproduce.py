"""The command that makes the papers' tables and figures again: reproduce."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, progress, table

if TYPE_CHECKING:
    from fedclade.papers.item import Item, Terms


class Size(StrEnum):
    """How much of it."""

    tiny = "tiny"
    small = "small"
    paper = "paper"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME[:PART]...]", help="Items, as --list names them; all, if none is given.", show_default=False
        ),
    ] = None,
    scale: Annotated[
        Size,
        typer.Option(help="small: all in 45 minutes on two cores; paper: the printed settings; tiny: does it run?"),
    ] = Size.small,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="As the authors' code does it, where that is not what they print.")
    ] = False,
    out: Annotated[Path, typer.Option(help="The folder of runs and results.")] = Path("reproduced"),
    listing: Annotated[bool, typer.Option("--list", help="Name all items, and run none.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Runs at once, each in one process; 0: one for each processor.")] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make the papers' tables and figures again, and print them beside what is printed.

    Called again with the same --out it goes on where it was stopped; what is done is not done again.
    """
    from fedclade.papers.item import Terms
    from fedclade.papers.registry import chosen

    items = chosen(names or ())
    terms = Terms(folder=out.absolute(), scale=scale.value, published=as_published)
    if listing:
        show_items(items, terms, as_json, quiet)
        return
    from fedclade.papers import runner

    silent = quiet or as_json
    with progress(silent) as watch, telling(silent) as tell:
        looking = runner.Watching(tell=tell, watch=lambda path: watch(f"{path.parent.name} {path.name}"))
        results = runner.reproduce(items, terms, jobs=jobs, watching=looking)
    written = out / terms.name
    if as_json:
        emit({"items": results, "tables": str(written / "results.md"), "report": str(written / "results.html")})
        return
    table(
        ("item", "verdict", "what it shows"),
        [(str(each["item"]), str(each["verdict"]) or "-", str(each["title"])) for each in results],
        left=3,
    )
    if not quiet:
        print(f"Tables: {written / 'results.md'}, {written / 'results.html'}")


def show_items(items: "Sequence[Item]", terms: "Terms", as_json: bool, quiet: bool) -> None:
    """Every item: its name, its parts, what it shows, and what it takes at both scales."""
    from fedclade.papers.timing import minutes_of, written_minutes

    small, paper = (
        {item.name: minutes_of(item, replace(terms, scale=scale)) for item in items} for scale in ("small", "paper")
    )
    if as_json:
        emit(
            {
                "items": [
                    {
                        "item": item.name,
                        "paper": item.paper,
                        "parts": list(item.parts),
                        "title": item.title,
                        "minutes_small": small[item.name],
                        "minutes_paper": paper[item.name],
                    }
                    for item in items
                ]
            }
        )
    elif quiet:
        print("\n".join(item.name for item in items))
    else:
        table(
            ("item", "parts", "what it shows", "small", "paper"),
            [
                (
                    item.name,
                    ", ".join(item.parts),
                    item.title,
                    written_minutes(small[item.name]),
                    written_minutes(paper[item.name]),
                )
                for item in items
            ],
            left=3,
        )
        print("Times are for each item alone, on two cores; items that have runs in common make them once.")


@contextmanager
def telling(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say on stderr what is being done."""

    def line(text: str) -> None:
        if not quiet:
            with suppress(BrokenPipeError):
                print(text, file=sys.stderr)

    yield line
