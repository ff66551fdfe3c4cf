"""What runs came to, for people and for machines."""

from typing import TYPE_CHECKING

from fedclade.cli.screen import emit, print_notes, print_table, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedclade.report.comparison import ComparisonRow
    from fedclade.report.summary import Summary
    from fedclade.runs.run import Run


def print_training_path(done: "Run", quiet: bool) -> None:
    """Say which path clients took where it is not the fastest, and why."""
    if done.training_path.reason and not quiet:
        print(f"Training path: {done.training_path}")


def print_training_notes(runs: "Sequence[Run]") -> None:
    """What should be known of how each run was trained."""
    print_notes([f"{run.path.name}: {note}" for run in runs for note in run.training_notes])


def show(done: "Run", as_json: bool, quiet: bool) -> None:
    """The verdict of one run."""
    from fedclade.report.comparison import comparison_rows
    from fedclade.report.run_data import read_run
    from fedclade.report.summary import summarise
    from fedclade.runs.divergence import check_divergence

    if as_json:
        emit({**done.result, **({"notes": done.notes} if done.notes else {})})
    else:
        if not quiet:
            print_notes([*done.notes, *done.training_notes])
        read = [read_run(done.folder)]
        lines = comparison_rows(read)
        print_lines(lines)
        print_summary(summarise(read, lines))
        print_training_path(done, quiet)
        print(f"Run: {done.result['run']}")
    check_divergence([done.result])


def print_lines(lines: "Sequence[ComparisonRow]", *, with_target: bool = False) -> None:
    """Two tables: the main metric and the cost of each method, and all other metrics."""
    from fedclade.report.tables import main_table, metric_table

    main, others = main_table(lines, with_target=with_target), metric_table(lines)
    print_table(main.headings, main.rows)
    if len(others.headings) > 1:
        print()
        print_table(others.headings, others.rows)


def print_summary(summary: "Summary") -> None:
    """Which method is best, or what one has reached; and the warnings, a line each."""
    print()
    print(printable(summary.sentence))
    for warning in summary.warning_texts():
        print(printable(f"Warning: {warning}"))
