"""Commands that train: demo, run, compare, resume."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedclade.cli.own_options import OwnTable, takes_own_data
from fedclade.cli.results import print_lines, print_summary, print_training_notes, print_training_path, show
from fedclade.cli.screen import Json, Quiet, emit, emit_csv, print_notes, progress_bars

if TYPE_CHECKING:
    from fedclade.runs.experiment import Experiment

ExperimentArgument = Annotated[
    Path,
    typer.Argument(
        metavar="EXPERIMENT|DATA",
        help="The experiment, a TOML file; or data: a table (.csv, .parquet), arrays (.npz), or a folder.",
        show_default=False,
    ),
]
ChangesOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting of the experiment; repeatable.")
]
RunSeedOption = Annotated[int | None, typer.Option(help="Change run.seed.", show_default=False)]
RunFolderOption = Annotated[
    Path | None, typer.Option(help="The folder to write; a new one below runs/ otherwise.", show_default=False)
]


@takes_own_data
def run(
    experiment: ExperimentArgument,
    own: OwnTable,
    changes: ChangesOption = None,
    seed: RunSeedOption = None,
    out: RunFolderOption = None,
    write_toml: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the experiment as TOML.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one method on one experiment; or, on your own data, FLT beside one model for all and a model for each.

    With data the folder is the run of FLT, with the others in baselines/. Called again it goes on where it was stopped.
    """
    from fedclade.runs.own_runs import any_experiment, is_own_data
    from fedclade.runs.run import start
    from fedclade.store.files import new_run_name

    wanted = any_experiment(experiment, own, changes or (), seed)
    if write_toml is not None:
        write_experiment(wanted, write_toml)
    if is_own_data(experiment, own):
        folder = out or Path("runs") / new_run_name(wanted.method_name, wanted.source)
        run_own_data(wanted, folder, as_json, quiet)
        return
    with progress_bars(quiet or as_json) as bar_for:
        done = start(wanted, out=out, progress=bar_for(wanted.method_name))
    show(done, as_json, quiet)


def write_experiment(experiment: "Experiment", path: Path) -> None:
    """Save an experiment as TOML; nothing is overwritten but the same text."""
    from fedclade.core import InputError

    text = experiment.toml()
    try:
        if path.exists() and path.read_text(encoding="utf-8") != text:
            do = "name another file, or remove it"
            raise InputError("there is another file", where=f"--write-toml {path}", need="a new file", do=do)
        path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the experiment cannot be written", where=f"--write-toml {path}", got=str(error)) from None


def run_own_data(experiment: "Experiment", folder: Path, as_json: bool, quiet: bool) -> None:
    """Train on own data, with baselines; print what came out, and write a report."""
    from fedclade.report.comparison import comparison_rows
    from fedclade.report.html import write_report
    from fedclade.report.run_data import read_run
    from fedclade.report.summary import summarise
    from fedclade.report.tables import as_table
    from fedclade.runs.divergence import check_divergence
    from fedclade.runs.own_runs import run_with_baselines
    from fedclade.store.files import REPORT_FILE

    with progress_bars(quiet or as_json) as bar_for:
        done, baselines = run_with_baselines(
            experiment, folder, lambda path: bar_for(experiment.method_name if path == folder else path.name)
        )
    folders = [each.folder for each in (done, *baselines)]
    report = write_report(folders, folder / REPORT_FILE)
    read = [read_run(each) for each in folders]
    notes, lines = done.notes, comparison_rows(read)
    summary = summarise(read, lines)
    if as_json:
        kept = ("method", "accuracy", "metric", "metrics", "interval", "groups", "diverged")
        baselines_found = [{name: each.result.get(name) for name in kept} for each in baselines]
        found = {"baselines": baselines_found, "methods": as_table(lines), **summary.as_json()}
        emit({**done.result, **found, "notes": notes, "report": str(report)})
    else:
        if not quiet:
            print_notes(notes)
            print_training_notes([done, *baselines])
        print_lines(lines)
        print_summary(summary)
        print_training_path(done, quiet)
        print(f"Report: {report}")
        print(f"Run: {done.result['run']}")
    check_divergence([each.result for each in (done, *baselines)])


def resume(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)],
    workers: Annotated[
        int | None, typer.Option(help="Other processes than before; same result.", show_default=False)
    ] = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Pass over a damaged last checkpoint, lost facts or another path, and go on."),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run that was stopped, to the same models; check one that is finished."""
    from fedclade.runs import run as runs
    from fedclade.runs.compare import baselines_of

    with progress_bars(quiet or as_json) as bar_for:
        done = runs.resume(folder, workers=workers, repair=repair, progress=bar_for(folder.name))
        for baseline in baselines_of(folder):
            if not baseline.is_finished:
                runs.resume(baseline.path, workers=workers, repair=repair, progress=bar_for(baseline.path.name))
    show(done, as_json, quiet)


@takes_own_data
def compare(
    experiment: ExperimentArgument,
    own: OwnTable,
    methods: Annotated[
        list[str],
        typer.Option(
            "--method",
            "-m",
            metavar="NAME[:KEY=VALUE,...]",
            help="A method to compare, with settings if it needs any; repeatable.",
            show_default=False,
        ),
    ],
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from run.seed on.")] = 1,
    changes: ChangesOption = None,
    seed: RunSeedOption = None,
    out: RunFolderOption = None,
    target: Annotated[
        float | None,
        typer.Option(
            help="Also the rounds and megabytes until the metric was so good; a share: 0 to 1.", show_default=False
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="The metric of --target; by itself the main one.", show_default=False)
    ] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Runs at once, each in one process; 0: one for each processor.")] = 0,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train several methods on the same data and seeds; print the table and write a report.

    Called again with the same --out it goes on where it was stopped.
    """
    from fedclade.core import InputError
    from fedclade.runs.own_runs import any_experiment
    from fedclade.store.files import new_run_name

    if as_json and as_csv:
        raise InputError("two forms are asked for", where="compare", got="--json and --csv", need="one of them")
    given = {"target": target, "metric": metric}
    more = [f"compare.{name}={value}" for name, value in given.items() if value is not None]
    wanted = any_experiment(experiment, own, [*(changes or ()), *more], seed)
    folder = out or Path("runs") / new_run_name("compare", wanted.source)
    compare_and_report(wanted, methods, seeds, folder, as_json, quiet, jobs=jobs, as_csv=as_csv)


DEMO = {
    "data": {"source": "digits", "world": "rotation", "clients": 20, "groups": 4},
    "local": {"epochs": 3, "batch": 10, "lr": 0.1},
    "run": {"rounds": 30, "participation": 0.5, "evaluate_every": 2},
}


def demo(out: RunFolderOption = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """One minute, no network: real digits on 20 clients in four hidden groups.

    Each group sees the digits turned by another quarter, and no method knows it.
    """
    from fedclade.methods import METHODS
    from fedclade.runs.experiment import experiment_from
    from fedclade.store.files import new_run_name

    if not (quiet or as_json):
        print("Real hand-written digits on 20 clients. Four hidden groups: each sees them turned by another quarter.")
    shown = [name for name, known in METHODS.items() if known.demo]
    folder = out or Path("runs") / new_run_name("demo", "digits")
    compare_and_report(experiment_from(DEMO, where="the demo"), shown, 1, folder, as_json, quiet)
    if not (quiet or as_json):
        print(f"Next: fedclade runs show {folder / (shown[0] + '-seed0')}")


def compare_and_report(
    experiment: "Experiment",
    methods: list[str],
    seeds: int,
    out: Path,
    as_json: bool,
    quiet: bool,
    *,
    jobs: int = 1,
    as_csv: bool = False,
) -> None:
    """Compare, print the table, write the report."""
    from fedclade.report.comparison import comparison_rows
    from fedclade.report.html import write_report
    from fedclade.report.run_data import read_run
    from fedclade.report.summary import summarise
    from fedclade.report.tables import as_table, baseline_entry, flat_rows
    from fedclade.runs import compare as comparing
    from fedclade.runs.divergence import check_divergence
    from fedclade.store.files import REPORT_FILE

    with progress_bars(quiet or as_json or as_csv) as bar_for:
        plans = comparing.plan_runs(experiment, methods, seeds, out)
        done = comparing.compare(
            plans,
            target=experiment.compare,
            jobs=jobs or comparing.best_jobs(experiment, len(plans)),
            progress_for=lambda path: bar_for(path.name),
        )
    folders = [each.folder for each in done]
    read = [read_run(each) for each in folders]
    lines = comparison_rows(read, experiment.compare)
    summary = summarise(read, lines)
    if not (quiet or as_json or as_csv):
        print_notes(done[0].notes)
        print_training_notes(done)
    report = write_report(folders, out / REPORT_FILE, experiment.compare)
    if as_json:
        found = {"methods": as_table(lines), "baseline": baseline_entry(lines), **summary.as_json()}
        emit({**found, "runs": [dict(each.result) for each in done], "report": str(report)})
    elif as_csv:
        emit_csv(flat_rows(lines))
    else:
        print_lines(lines, with_target=experiment.compare.target is not None)
        print_summary(summary)
        print(f"Report: {report}")
    check_divergence([each.result for each in done])
