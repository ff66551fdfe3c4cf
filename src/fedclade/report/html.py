"""The report: one HTML file that works offline, about one run or several side by side."""

from collections.abc import Sequence
from pathlib import Path

from fedclade import __version__
from fedclade.core import InputError
from fedclade.core.metric_text import metric_text
from fedclade.report.comparison import comparison_rows
from fedclade.report.harm import harmed_by_run
from fedclade.report.page import render_page, write_page
from fedclade.report.plots import draw_plots
from fedclade.report.run_data import JsonObject, RunData, as_list, mapping, number, read_run
from fedclade.report.summary import summarise
from fedclade.report.tables import Table, main_table, metric_table
from fedclade.runs.experiment import PYTHON
from fedclade.runs.significance import LEVEL
from fedclade.runs.target import NO_TARGET, MetricTarget
from fedclade.runs.training_notes import training_notes
from fedclade.store.events import DivergedEvent, LeftEvent, ResumeEvent, ReturnedEvent, TrafficEvent
from fedclade.store.run_folder import RunFolder

MAX_RECALLS = 20  # classes that have a column each
MAX_CONFUSION_SHOWN = 30  # classes of a table of confusions


def write_report(folders: Sequence[RunFolder], path: Path, target: MetricTarget = NO_TARGET) -> Path:
    """Write the report of these runs, all of them finished; with the cost of a target, if one is given."""
    runs = read_finished_runs(folders)
    if not path.parent.is_dir() or path.is_dir():
        raise InputError("the report cannot be written", where=str(path), need="a file in a folder that exists")
    rows = comparison_rows(runs, target)
    summary = summarise(runs, rows)
    content = render_page(
        "report.html",
        draw_plots(runs),
        verdict=summary.sentence,
        tables=[main_table(rows, with_target=target.target is not None), metric_table(rows, max_recalls=MAX_RECALLS)],
        level=f"{100 * LEVEL:.0f} %",
        shares=runs[0].metric_kind().unit == "share",
        notes=data_notes(runs) + run_notes(runs),
        warnings=summary.warning_texts(),
        runs=[run_details(run, harmed) for run, harmed in zip(runs, harmed_by_run(runs), strict=True)],
        environment=shared_environment(runs),
        version=__version__,
    )
    return write_page(content, path)


def data_notes(runs: Sequence[RunData]) -> list[str]:
    """What a user should know of the data, each once."""
    found = [as_list(run.environment.get("notes", [])) for run in runs]
    return list(dict.fromkeys(str(note) for notes in found for note in notes))


def run_notes(runs: Sequence[RunData]) -> list[str]:
    """What a user should know of how each was trained."""
    return [f"{run.path.name}: {note}" for run in runs for note in training_notes(run.result or {})]


def read_finished_runs(folders: Sequence[RunFolder]) -> list[RunData]:
    """These runs, read; an error unless there is one, and all are finished and as they were written."""
    if not folders:
        raise InputError("there is no run to report on", need="at least one run folder")
    for folder in folders:
        if not folder.is_finished:
            resume = f"fedclade resume {folder.path}"
            raise InputError("a run is not finished", where=str(folder.path), need="a result.json", do=resume)
        folder.verify()
    return [read_run(folder) for folder in folders]


def run_details(run: RunData, harmed: tuple[str, ...] | None) -> dict[str, object]:
    """What the page shows of one run."""
    return {
        "path": str(run.path),
        "result": run.result,
        "experiment": run.experiment_toml,
        "from_python": f'"{PYTHON}"' in run.experiment_toml,
        "harmed": harmed,
        "problems": problems(run),
        "confusion": confusion_table(run),
        "metric": run.metric_kind().label,
        "by_planted_group": group_texts(run),
    }


def group_texts(run: RunData) -> list[str]:
    """The main metric of each planted group; empty where there are none."""
    result = mapping(run.result)
    found = result.get("metric_by_planted_group") or result.get("accuracy_by_planted_group")
    return [metric_text(number(value), run.metric_kind()) for value in as_list(found)]


def confusion_table(run: RunData) -> Table | None:
    """Test examples by class, a row each, and by answer, as text; None of another task, or of many classes."""
    result = mapping(run.result)
    rows = [[int(number(cell, 0)) for cell in as_list(row)] for row in as_list(result.get("confusion"))]
    if not 2 <= len(rows) <= MAX_CONFUSION_SHOWN or any(len(row) != len(rows) for row in rows):
        return None
    named = [str(name) for name in as_list(result.get("class_names"))]
    classes = named if len(named) == len(rows) else [str(number) for number in range(len(rows))]
    right = [f"{100 * row[at] / sum(row):.1f} %" if sum(row) else "-" for at, row in enumerate(rows)]
    lines = zip(classes, rows, right, strict=True)
    return Table(("class", *classes, "recall"), tuple((name, *map(str, row), share) for name, row, share in lines))


def shared_environment(runs: Sequence[RunData]) -> JsonObject:
    """The entries of environment.json that are the same in all runs."""
    first = runs[0].environment
    return {name: value for name, value in first.items() if all(each.environment.get(name) == value for each in runs)}


def problems(run: RunData) -> list[str]:
    """What went wrong on the way, one by one: refused replies, silent clients, repairs."""
    found: list[str] = []
    for event in run.events:
        match event:
            case TrafficEvent():
                for refusal in event.refused:
                    found.append(f"round {event.round}: reply of {refusal.client} refused, {refusal.reason}")
                for missing in event.silent:
                    found.append(f"round {event.round}: {missing.client} did not answer ({missing.verb})")
            case DivergedEvent():
                found.append(f"round {event.round}: training diverged: {event.reason}")
            case ResumeEvent():
                found.append(f"resumed after round {event.round}" + (", repaired" if event.repaired else ""))
            case LeftEvent() | ReturnedEvent():
                found.append(f"round {event.round}: {', '.join(event.clients)} {event.kind}")
    return found
