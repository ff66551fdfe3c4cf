"""The command that looks for groups in a user's own data."""

from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.own_options import OwnTable, takes_own_data
from fedclade.cli.screen import Json, Quiet, emit, print_notes, print_table, printable

MAX_SHOWN_CLIENTS = 8  # clients of a group that are named on the screen


@takes_own_data
def groups(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A table (.csv, .parquet), arrays (.npz), or a folder with an entry for each client.",
            show_default=False,
        ),
    ],
    own: OwnTable,
    encoder: Annotated[
        str, typer.Option(help="What images are seen through, if not the public basis.", show_default=False)
    ] = "",
    seed: Annotated[
        int, typer.Option(min=0, help="Decides which rows are left for a run to test on, as run.seed.")
    ] = 0,
    out: Annotated[Path, typer.Option(help="The folder for groups.json and groups.html.")] = Path(),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find which clients of your own data belong together. Nothing is trained.

    Every column but the client's and the label's is a feature: numbers, categories, dates, truth values. Without
    --label features alone are compared.
    """
    from fedclade.data.load import load_own
    from fedclade.report.groups import as_json as plain
    from fedclade.report.groups import confidence_texts, write_groups
    from fedclade.report.profiles import profiles
    from fedclade.runs.own_groups import find_own_groups

    answer = find_own_groups(load_own(data, {"label": "", **own}, seed), encoder=encoder, seed=seed)
    machine, page = write_groups(answer, out)
    if as_json:
        groups_json = plain(answer)
        assert isinstance(groups_json, dict)
        emit({**groups_json, "written": [str(machine), str(page)]})
        return
    print(printable(answer.sentence()))
    if quiet:
        return
    silhouette, ratio, stability = confidence_texts(answer)
    print(f"How sure: silhouette {silhouette}, height ratio {ratio}, stability {stability}")
    known = profiles(answer)
    if len(known) > 1:
        rows = []
        for each in known:
            more = ", ..." if len(each.clients) > MAX_SHOWN_CLIENTS else ""
            named = ", ".join(each.clients[:MAX_SHOWN_CLIENTS]) + more
            rows.append((each.name, str(len(each.clients)), "; ".join(each.statements) or "-", named))
        print_table(("group", "clients", "unlike the others", "members"), rows, left=4)
    print_notes(answer.federation.notes)
    print(f"Written: {machine}, {page}")
