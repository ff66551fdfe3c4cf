"""Commands that read run folders: runs list, runs show, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, print_table, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedclade.store.run_folder import RunFolder

app = typer.Typer(no_args_is_help=True, help="List runs, or show one.")


@app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Where to look: in it and two levels below.")] = Path("runs"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the runs of a folder, with how far each one is."""
    from fedclade.core import InputError
    from fedclade.runs.compare import runs_below

    if not folder.is_dir():
        raise InputError("there is no such folder", where=str(folder), need="a folder with runs in it")
    found = [overview(run) for run in runs_below(folder)]
    if as_json:
        emit({"runs": found})
    elif found or not quiet:
        names = ("run", "state", "method", "round")
        rows = [[*(str(one[name] or "-") for name in names), result_text(one)] for one in found]
        print_table((*names, "result"), rows, left=3)


@app.command("show")
def show_run(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show one run: how far it is, its settings, its groups, what went wrong on the way."""
    from fedclade.core import Damaged
    from fedclade.store.events import TrafficEvent, plain_value
    from fedclade.store.json_values import as_list, as_mapping
    from fedclade.store.run_folder import RunFolder

    run = RunFolder.open(folder)
    seen = overview(run)
    if seen["state"] == "damaged":
        raise Damaged("the run cannot be read", where=str(folder), need="its files as they were written")
    result = run.result() if run.is_finished else {}
    asked = run.experiment_toml()
    refused = [plain_value(refusal) for event in run.events(TrafficEvent) for refusal in event.refused]
    if as_json:
        emit({**seen, "result": result or None, "experiment": asked, "refused": refused})
        return
    print(f"{seen['run']}: {seen['state']}, {seen['method']}, round {seen['round']}")
    metrics, baseline = (as_mapping(result.get(name)) for name in ("metrics", "baseline"))
    shown = {**result, **metrics, **{f"baseline_{name}": value for name, value in baseline.items()}}
    for name, value in shown.items():
        if isinstance(value, int | float | str) and name not in ("run", "method"):
            print(f"  {name:26} {value:.4f}" if isinstance(value, float) else f"  {name:26} {value}")
    for warning in as_list(result.get("warnings")):
        print(printable(f"  warning: {as_mapping(warning).get('text', '')}"))
    groups = as_list(result.get("groups"))
    for number, members in enumerate(groups if len(groups) < 20 else ()):
        print(f"  group {number}: {', '.join(str(client) for client in as_list(members))}")
    if refused:
        print(f"  refused replies: {len(refused)}, first {refused[0]}")
    if not quiet:
        print(asked)


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="The file to write; in the first run otherwise.", show_default=False)
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="A folder for every figure as a file of its own.", show_default=False)
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="Of these files: png (the default), svg or pdf.", show_default=False)
    ] = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML file about one run, or several side by side. It works offline."""
    from fedclade.core import InputError
    from fedclade.report.html import write_report
    from fedclade.report.static import check_format, write_plots
    from fedclade.runs.compare import runs_below
    from fedclade.store.files import REPORT_FILE
    from fedclade.store.run_folder import RunFolder

    if form and figures is None:
        raise InputError("there are no figures to write", where="--format", got=form, need="--figures FOLDER beside it")
    # A folder of runs stands for all the runs in it.
    folders = [run for path in runs for run in runs_below(path) or (RunFolder.open(path),)]
    check_format(form or "png")
    written = write_report(folders, out or runs[0] / REPORT_FILE)
    files = write_plots(folders, figures, form or "png") if figures else []
    if as_json:
        written_files = {"report": str(written), "figures": [str(file) for file in files]}
        emit({**written_files, "runs": [str(folder.path) for folder in folders]})
    elif not quiet:
        print(f"Report: {written}")
        if figures:
            print(f"Figures: {len(files)} files in {figures}")


def overview(run: "RunFolder") -> dict[str, object]:
    """The state and the progress of a run; one that cannot be read is damaged, and hides no other."""
    import tomllib

    from fedclade.core import Damaged
    from fedclade.store.events import EvaluationEvent, RoundEvent

    try:
        asked = tomllib.loads(run.experiment_toml())
        rounds, method = asked["run"]["rounds"], asked["method"]["name"]
        rounds_seen = [event.round for event in run.events(RoundEvent)]
        evaluations = [*run.events(EvaluationEvent)]
        state = state_of(run)
    except (Damaged, ValueError, KeyError, TypeError):
        unknown = dict.fromkeys(("method", "round", "accuracy", "metric", "value"))
        return {"run": str(run.path), "state": "damaged", **unknown}
    last = evaluations[-1] if evaluations else EvaluationEvent()
    return {
        "run": str(run.path),
        "state": state,
        "method": method,
        "round": f"{rounds_seen[-1] if rounds_seen else 0}/{rounds}",
        "accuracy": last.accuracy,
        "metric": last.metric or "accuracy",
        "value": last.value,
    }


def result_text(seen: "Mapping[str, object]") -> str:
    """The main metric of a run, with its name unless it is the accuracy."""
    from fedclade.core.metric_text import metric_text
    from fedclade.core.task import METRIC_KINDS, MetricKind

    name, value = str(seen["metric"]), seen["value"]
    if not isinstance(value, int | float):
        return "-"
    text = metric_text(float(value), METRIC_KINDS.get(name, MetricKind(name)))
    return text if name == "accuracy" else f"{METRIC_KINDS.get(name, MetricKind(name)).label} {text}"


def state_of(run: "RunFolder") -> str:
    """The state of a run in a word."""
    if run.is_finished:
        return "diverged" if run.result().get("diverged") is True else "finished"
    return "running" if run.writer else "stopped"
