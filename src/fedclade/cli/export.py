"""The command that hands a run to another program: export."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit


class ExportFormat(StrEnum):
    """The forms in which a run can be written."""

    csv = "csv"
    tensorboard = "tensorboard"
    mlflow = "mlflow"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    to: Annotated[ExportFormat, typer.Option(help="For which program.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write; one of that name in the run otherwise.", show_default=False),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a run's rounds and clients for another program: CSV files, TensorBoard or MLflow."""
    from fedclade.export import export_run

    written = export_run(run, to.value, out)
    if as_json:
        emit({"run": str(run), "to": to.value, "written": [str(path) for path in written]})
    elif not quiet:
        for path in written:
            print(f"Written: {path}")
