"""The command tree, and the one place where an exception becomes a line on stderr and an exit code."""

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from fedclade import __version__
from fedclade.cli import bench, dashboard, data, deploy, encoders, export, groups, info, run, runs
from fedclade.cli.plugins import command_names, with_plugins
from fedclade.cli.screen import printable
from fedclade.plugins import responsible_package

INTERRUPTED = 130  # an exit code

app = typer.Typer(
    name="fedclade",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        print(f"fedclade {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Clustered federated learning: which clients belong together, and a model for each group.

    Start with `fedclade demo`. Every command takes --json, --quiet and --debug (tracebacks).
    """
    assert not version  # or its callback would have left


app.command("demo")(run.demo)
app.command("groups")(groups.groups)
app.command("run")(run.run)
app.command("compare")(run.compare)
app.command("resume")(run.resume)
app.command("report")(runs.report)
app.add_typer(runs.app, name="runs")
app.command("dashboard")(dashboard.dashboard)
app.command("export")(export.export)
app.command("methods")(info.methods)
app.add_typer(data.app, name="data")
app.add_typer(data.worlds_app, name="worlds")
app.command("models")(info.models)
app.add_typer(encoders.app, name="encoders")
app.add_typer(deploy.app, name="deploy")
app.command("bench")(bench.bench)
app.command("doctor")(info.doctor)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    signal.signal(signal.SIGTERM, interrupt)
    sys.exit(code_of([word for word in given if word != "--debug"], debug))


def interrupt(*_: object) -> None:
    """Treat a request to end as an interrupt: files on disk stay good."""
    raise KeyboardInterrupt


def code_of(arguments: list[str], debug: bool) -> int:
    """The exit code of a command: 0 good, 1 our bug, 2 wrong input, 3 stopped and resumable, 4 damaged."""
    try:
        code = with_plugins(app, arguments)(arguments, prog_name="fedclade", standalone_mode=False)
        if code == INTERRUPTED:  # as typer reports it
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except KeyboardInterrupt:
        return print_error("interrupted; nothing was started", 3)
    except MemoryError:
        return print_error("out of memory; what was on disk is safe; do: fedclade resume, or ask for less", 3)
    except BrokenPipeError:  # the reader of our output has left
        sys.stderr.close()
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        if hasattr(error, "format_message"):  # typer's own: a wrong option or argument
            return usage_error(error.format_message(), type(error).__name__, arguments)
        known = getattr(error, "exit_code", None)
        if isinstance(known, int):
            return print_error(str(error), known)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            message = "the disk is full; what was on it is safe; do: make room, then the same command again"
            return print_error(message, 3)
        what = f"a bug in {responsible_package(error)}, {type(error).__name__}: {error}"
        return print_error(f"{what}; do: run again with --debug and report what it prints", 1)


def usage_error(message: str, kind: str, arguments: list[str]) -> int:
    """Print typer's error about the words of a command."""
    if kind == "NoArgsIsHelpError":
        print(message)
        return 0
    command = arguments[0] + " " if arguments[0] in command_names(with_plugins(app, arguments)) else ""
    return print_error(f"{message.rstrip('.')}; do: fedclade {command}--help", 2)


def print_error(message: str, code: int) -> int:
    """One line of stderr, and the exit code."""
    print("error: " + printable(" ".join(message.split())), file=sys.stderr)
    return code
