"""The command that makes the papers' tables and figures again: reproduce."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, table

if TYPE_CHECKING:
    from fedclade.papers.item import Item, Terms
    from fedclade.papers.runner import Result, Watching
    from fedclade.runs.loop import Progress, Watch


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
        typer.Option(help="small: under 45 minutes on two cores; paper: the printed settings; tiny: does it run?"),
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
    """Make the papers' tables and figures again, and tell which come out as printed.

    Called again with the same --out it goes on where it was stopped; what is done is not done again.
    """
    from fedclade.papers.item import Terms
    from fedclade.papers.registry import chosen

    items = chosen(names or ())
    terms = Terms(folder=out.absolute(), scale=scale.value, published=as_published)
    if as_published:
        items = read_in_two_ways(items, terms, by_name=bool(names), quiet=quiet or as_json)
    if listing:
        show_items(items, terms, as_json, quiet)
        return
    from fedclade.papers import runner

    try:
        with looking(quiet or as_json) as watching:
            results = runner.reproduce(items, terms, jobs=jobs, watching=watching)
    except runner.NotAllMade as wrong:
        show_results(wrong.results, out / terms.name, as_json, quiet, wrong.missing)
        raise
    show_results(results, out / terms.name, as_json, quiet)


def read_in_two_ways(items: "tuple[Item, ...]", terms: "Terms", *, by_name: bool, quiet: bool) -> "tuple[Item, ...]":
    """Those that authors' code does otherwise than their paper says; the others are left out, and that is said."""
    from fedclade.papers.readings import published_ones
    from fedclade.papers.registry import ITEMS

    two, others = published_ones(items, terms, ITEMS.values(), by_name=by_name)
    if others and not quiet:
        line(f"left out, for they have one reading only: {', '.join(others)}")
    return two


def show_results(
    results: "Sequence[Result]", written: Path, as_json: bool, quiet: bool, missing: "Mapping[str, str] | None" = None
) -> None:
    """What every item came to, and where the tables are."""
    from fedclade.papers.writing import verdict_of

    tables, report = written / "results.md", written / "results.html"
    if as_json:
        emit({"items": results, "not_made": missing or {}, "tables": str(tables), "report": str(report)})
        return
    if results:
        table(
            ("item", "verdict", "what it shows"),
            [(str(each["item"]), verdict_of(each), str(each["title"])) for each in results],
            left=3,
        )
    if results and not quiet:
        print(f"Tables: {tables}, {report}")


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
def looking(quiet: bool) -> "Iterator[Watching]":
    """Somebody who looks on: a line for each item, and how far its runs are."""
    from fedclade.papers.runner import Watching

    if quiet:
        yield Watching()
    elif sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
        with console.status("") as status:
            yield Watching(
                tell=lambda text: console.print(text, markup=False),
                watch=lambda path: lambda now: status.update(f"{run_name(path)}: round {now.round}/{now.rounds}"),
            )
    else:
        yield Watching(tell=line, watch=tenths)


def run_name(path: Path) -> str:
    """A run by its setting, its method and its seed; a file of weights that is trained by its own name."""
    from fedclade.nets.shelf import SUFFIX

    return path.stem if path.suffix == SUFFIX else f"{path.parent.name} {path.name}"


def tenths(path: Path) -> "Watch":
    """A line for each tenth of a run."""

    def told(now: "Progress") -> None:
        if now.round % max(now.rounds // 10, 1) == 0 or now.round == now.rounds:
            accuracy = "" if now.accuracy is None else f", accuracy {100 * now.accuracy:.1f} %"
            line(f"  {run_name(path)}: round {now.round}/{now.rounds}{accuracy}")

    return told


def line(text: str) -> None:
    """One line of stderr."""
    with suppress(BrokenPipeError):  # nobody reads on, and the work goes on
        print(text, file=sys.stderr, flush=True)
