"""A command: the best of several runs."""

from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit


def best(
    folder: Annotated[Path, typer.Argument(help="A folder with runs in it.")] = Path("runs"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Name the finished run with the highest accuracy."""
    from fedclade.core import InputError  # what takes time is imported here, so that `fedclade --help` does not wait
    from fedclade.runs.compare import runs_below

    finished = {str(run.path): run.result() for run in runs_below(folder) if run.is_finished}
    if not finished:
        raise InputError("there is no finished run", where=str(folder), need="one run at least", do="fedclade run")
    name, result = max(finished.items(), key=lambda found: float(str(found[1]["accuracy"])))
    if as_json:
        emit({"run": name, "method": result["method"], "accuracy": result["accuracy"]})
    elif quiet:
        print(name)
    else:
        print(f"{name}: {result['method']}, accuracy {float(str(result['accuracy'])):.1%}")
