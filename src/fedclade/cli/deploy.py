"""Commands for a real fleet on Flower: deploy init, deploy check."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, print_table

app = typer.Typer(no_args_is_help=True, help="Write a Flower app with its keys and commands, or check one.")

AppFolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The app's folder.", show_default=False)]


@app.command("init")
def init(
    folder: AppFolderArgument,
    clients: Annotated[
        str, typer.Option(metavar="NAME,NAME...", help="The sites' names.", show_default="site-1, site-2")
    ] = "",
    sites: Annotated[
        int | None, typer.Option(metavar="N", help="So many sites, named site-1 to site-N.", show_default=False)
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host", help="A name or IP address of the server, as sites dial it; repeatable.", show_default="127.0.0.1"
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Where the proxy listens for sites.")] = 8443,
    superlink_port: Annotated[int, typer.Option(help="Where the SuperLink listens, on 127.0.0.1 only.")] = 8000,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a Flower app: code, experiment, scripts, proxy, a test CA and keys. Nothing is overwritten."""
    from fedclade.deploy.init import OPEN_CONTROL, TEST_CA, registrations, write_app
    from fedclade.deploy.plan import CONNECTION, AppPlan, site_names

    plan = AppPlan(
        folder=folder.resolve(),
        sites=site_names(clients, sites),
        hosts=tuple(hosts or ("127.0.0.1",)),
        port=port,
        superlink_port=superlink_port,
    )
    written = write_app(plan)
    if as_json:
        emit(
            {
                "folder": str(plan.folder),
                "files": sorted(str(path.relative_to(plan.folder)) for path in written),
                "sites": plan.sites,
                "address": plan.address,
                "register": registrations(plan),
                "warnings": [OPEN_CONTROL, TEST_CA],
            }
        )
        return
    if quiet:
        print("\n".join(registrations(plan)))
        return
    print(f"The app is in {plan.folder}; its README.md has every command. Sites dial {plan.address}.\n")
    steps = [
        ("cd " + quote(str(plan.folder)), ""),
        ("./start-superlink.sh", "in a terminal of its own"),
        ("./start-proxy.sh", "in a terminal of its own"),
        ("source ./flower.env", ""),
        *((command, "once") for command in registrations(plan)),
        (f"./start-site.sh {plan.sites[0]}", "at the site, and so for each"),
        (f"flwr run . {CONNECTION} --stream", ""),
    ]
    print("\n".join(f"  {command:{'' if not why else 28}}{'  # ' + why if why else ''}" for command, why in steps))
    print(f"\nWARNING: {OPEN_CONTROL}\nWARNING: {TEST_CA}")


@app.command("check")
def check(
    folder: AppFolderArgument,
    public: Annotated[
        str, typer.Option(metavar="URL", help="Also probe the address that sites dial.", show_default=False)
    ] = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check an app: its files, experiment, certificates, keys, bundle, and whether the control port can be reached."""
    from fedclade.core import InputError
    from fedclade.deploy.check import check_app

    findings = check_app(folder.resolve(), public)
    bad = [finding for finding in findings if finding.level in ("missing", "wrong")]
    if as_json:
        emit({"ready": not bad, "findings": [vars(finding) for finding in findings]})
    else:
        shown = [finding for finding in findings if not quiet or finding.level != "ok"]
        rows = [(finding.level, finding.where, finding.what, finding.do) for finding in shown]
        if rows:
            print_table(("", "where", "what", "do"), rows, left=4)
    if bad:
        got = f"{len(bad)} missing or wrong, {bad[0].where} first"
        raise InputError("the app is not ready", where=str(folder), got=got, need="none", do="what the list says")
