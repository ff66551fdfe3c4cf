"""The command tree, and the one place where an exception becomes a line on stderr and an exit code."""

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from fedclade import __version__
from fedclade.cli import (
    attention,
    bench,
    dashboard,
    data,
    deploy,
    encoders,
    export,
    groups,
    info,
    reproduce,
    run,
    runs,
)
from fedclade.cli.plugins import names, with_plugins
from fedclade.plugins import culprit

INTERRUPTED = 130  # an exit code

app = typer.Typer(
    name="fedclade",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def tell_version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        print(f"fedclade {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=tell_version, is_eager=True, help="Print the version.")
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
app.add_typer(attention.app, name="attention")
app.add_typer(deploy.app, name="deploy")
app.command("reproduce")(reproduce.reproduce)
app.command("bench")(bench.bench)
app.command("doctor")(info.doctor)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    signal.signal(signal.SIGTERM, interrupt)
    sys.exit(code_of([word for word in given if word != "--debug"], debug))


def interrupt(*_: object) -> None:
    """A request to end is an interrupt: what is on disk stays good."""
    raise KeyboardInterrupt


def code_of(arguments: list[str], debug: bool) -> int:
    """The exit code of a command: 0 good, 1 our bug, 2 wrong input, 3 stopped and resumable, 4 damaged."""
    try:
        code = with_plugins(app, arguments)(arguments, prog_name="fedclade", standalone_mode=False)
        if code == INTERRUPTED:  # typer's word for it
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except KeyboardInterrupt:
        return failed("interrupted; nothing was started", 3)
    except MemoryError:
        return failed("out of memory; what was on disk is safe; do: fedclade resume, or ask for less", 3)
    except BrokenPipeError:  # the reader of our output has left
        sys.stderr.close()
        return 0
    except Exception as wrong:
        if debug:
            traceback.print_exc()
        if hasattr(wrong, "format_message"):  # typer's own: a wrong option or argument
            return usage(wrong.format_message(), type(wrong).__name__, arguments)
        known = getattr(wrong, "exit_code", None)
        if isinstance(known, int):
            return failed(str(wrong), known)
        if isinstance(wrong, OSError) and wrong.errno == errno.ENOSPC:
            return failed("the disk is full; what was on it is safe; do: make room, then the same command again", 3)
        return failed(
            f"a bug in {culprit(wrong)}, {type(wrong).__name__}: {wrong}; "
            "do: run again with --debug and report what it prints",
            1,
        )


def usage(message: str, kind: str, arguments: list[str]) -> int:
    """What typer found wrong with the words of a command."""
    if kind == "NoArgsIsHelpError":
        print(message)
        return 0
    command = arguments[0] + " " if arguments[0] in names(with_plugins(app, arguments)) else ""
    return failed(f"{message.rstrip('.')}; do: fedclade {command}--help", 2)


def failed(message: str, code: int) -> int:
    """One line of stderr, and the exit code."""
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(message.split()))
    print("error: " + line, file=sys.stderr)
    return code
