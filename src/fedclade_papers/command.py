"""The command that makes the papers' tables and figures again: reproduce."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, print_table

if TYPE_CHECKING:
    from fedclade.runs.loop import ProgressCallback, RunProgress
    from fedclade_papers.item import Item, Terms
    from fedclade_papers.result_files import Result
    from fedclade_papers.runner import ProgressDisplay


class Size(StrEnum):
    """The scale of a reproduction."""

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
    from fedclade_papers.item import Terms
    from fedclade_papers.registry import items_named

    items = items_named(names or ())
    terms = Terms(folder=out.absolute(), scale=scale.value, published=as_published)
    if as_published:
        items = items_as_published(items, terms, by_name=bool(names), quiet=quiet or as_json)
    if listing:
        show_items(items, terms, as_json, quiet)
        return
    from fedclade_papers import runner

    try:
        with terminal_display(quiet or as_json) as display:
            results = runner.reproduce(items, terms, jobs=jobs, display=display)
    except runner.SomeItemsFailed as error:
        show_results(error.results, out / terms.name, as_json, quiet, error.missing)
        raise
    show_results(results, out / terms.name, as_json, quiet)


def items_as_published(items: "tuple[Item, ...]", terms: "Terms", *, by_name: bool, quiet: bool) -> "tuple[Item, ...]":
    """The items that the authors' code does otherwise than their paper; a line of stderr names those left out."""
    from fedclade_papers.published_readings import items_with_two_readings

    two, others = items_with_two_readings(items, terms, by_name=by_name)
    if others and not quiet:
        print_line(f"left out, for they have one reading only: {', '.join(others)}")
    return two


def show_results(
    results: "Sequence[Result]", folder: Path, as_json: bool, quiet: bool, missing: "Mapping[str, str] | None" = None
) -> None:
    """Print what came of every item, and where the tables are."""
    from fedclade_papers.result_files import outcome_text

    tables, report = folder / "results.md", folder / "results.html"
    if as_json:
        emit({"items": results, "not_made": missing or {}, "tables": str(tables), "report": str(report)})
        return
    if results:
        print_table(
            ("item", "outcome", "what it shows"),
            [(str(each["item"]), outcome_text(each), str(each["title"])) for each in results],
            left=3,
        )
    if results and not quiet:
        print(f"Tables: {tables}, {report}")


def show_items(items: "Sequence[Item]", terms: "Terms", as_json: bool, quiet: bool) -> None:
    """Print every item: its name, parts and title, and the time that it takes at both scales."""
    from fedclade_papers.expected_times import duration_text, minutes_of

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
        print_table(
            ("item", "parts", "what it shows", "small", "paper"),
            [
                (
                    item.name,
                    ", ".join(item.parts),
                    item.title,
                    duration_text(small[item.name]),
                    duration_text(paper[item.name]),
                )
                for item in items
            ],
            left=3,
        )
        print("Times are for each item alone, on two cores; items that have runs in common make them once.")


@contextmanager
def terminal_display(quiet: bool) -> "Iterator[ProgressDisplay]":
    """Progress on stderr: a line for each item, and the rounds of its runs."""
    from fedclade_papers.runner import ProgressDisplay

    if quiet:
        yield ProgressDisplay()
    elif sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True, highlight=False)
        with console.status("") as status:
            yield ProgressDisplay(
                show=lambda text: console.print(text, markup=False),
                progress_of=lambda path: lambda now: status.update(f"{run_name(path)}: round {now.round}/{now.rounds}"),
            )
    else:
        yield ProgressDisplay(show=print_line, progress_of=tenths_printer)


def run_name(path: Path) -> str:
    """A run by its setting, its method and its seed; a file of weights that is trained by its own name."""
    from fedclade.nets.weight_files import SUFFIX

    return path.stem if path.suffix == SUFFIX else f"{path.parent.name} {path.name}"


def tenths_printer(path: Path) -> "ProgressCallback":
    """A line for each tenth of a run."""

    def print_progress(now: "RunProgress") -> None:
        if now.round % max(now.rounds // 10, 1) == 0 or now.round == now.rounds:
            accuracy = "" if now.accuracy is None else f", accuracy {100 * now.accuracy:.1f} %"
            print_line(f"  {run_name(path)}: round {now.round}/{now.rounds}{accuracy}")

    return print_progress


def print_line(text: str) -> None:
    """One line of stderr."""
    with suppress(BrokenPipeError):  # the reader is gone, and the work goes on
        print(text, file=sys.stderr, flush=True)
