"""The command that shows runs in a browser: dashboard."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit


def dashboard(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", help="The folder of the runs: in it and two levels below.")
    ] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0: any that is free.")] = 8420,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show runs in a browser on this machine, live while they train. Ctrl-C ends it.

    Only a person with the printed address can look, and nothing is ever written.
    """
    from fedclade.dashboard.serve import serve

    def announce(address: str) -> None:
        if as_json:
            emit({"address": address, "runs": str(runs)})
            sys.stdout.flush()  # a machine waits for it
        else:
            print(address if quiet else f"{address}\nShowing the runs in {runs}. Ctrl-C ends it.", flush=True)

    serve(runs, port, announce)
