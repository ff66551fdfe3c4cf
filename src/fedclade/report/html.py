"""The report: one HTML file that works offline, about one run or several side by side."""

from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path

from fedclade import __version__
from fedclade.core import InputError
from fedclade.core.metric_text import interval_text, metric_text
from fedclade.report.comparison import (
    HEADINGS,
    TARGET_HEADINGS,
    ComparisonRow,
    as_text,
    as_text_with_target,
    comparison_rows,
)
from fedclade.report.harm import harmed_by_run
from fedclade.report.page import render_page, write_page
from fedclade.report.plots import draw_plots
from fedclade.report.run_data import JsonObject, RunData, mapping, read_run
from fedclade.report.verdict import judge_methods, verdict_sentence
from fedclade.runs.experiment import PYTHON
from fedclade.runs.significance import LEVEL
from fedclade.runs.training_notes import training_notes
from fedclade.store.events import DivergedEvent, LeftEvent, ResumeEvent, ReturnedEvent, TrafficEvent
from fedclade.store.json_values import as_list
from fedclade.store.run_folder import RunFolder


def write_report(folders: Sequence[RunFolder], path: Path, target: float | None = None) -> Path:
    """Write the report of these runs, all of them finished; with the cost of a target accuracy, if one is given."""
    runs = read_finished_runs(folders)
    if not path.parent.is_dir() or path.is_dir():
        raise InputError("the report cannot be written", where=str(path), need="a file in a folder that exists")
    rows = comparison_rows(runs, target)
    content = render_page(
        "report.html",
        draw_plots(runs),
        verdict=summary_sentence(runs, rows),
        headings=HEADINGS if target is None else HEADINGS + TARGET_HEADINGS,
        rows=[as_text(row) if target is None else as_text_with_target(row) for row in rows],
        notes=data_notes(runs) + run_notes(runs),
        warnings=[warning for run in runs for warning in warnings(run)],
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
    }


def summary_sentence(runs: Sequence[RunData], rows: Sequence[ComparisonRow]) -> str:
    """The whole report in a sentence."""
    useful = {row.method for row in rows if row.metric == runs[0].metric and not row.diverged}
    values = {row.method: row.value if row.method in useful else nan for row in rows}
    diverged = tuple(row.method for row in rows if row.diverged)
    clients = len(runs[0].final_values())
    if len(rows) > 1 or isnan(values[rows[0].method]):
        return verdict_sentence(judge_methods(runs, values), values, runs[0], clients, diverged)
    row, kind = rows[0], runs[0].metric_kind()
    words = f"mean {kind.label}" if kind.unit == "share" else kind.label
    sure = f", {100 * LEVEL:.0f} % interval {interval_text(row.interval, kind)}" if row.interval is not None else ""
    reached = f"{metric_text(row.value, kind)} {words}{sure}"
    return f"{row.method} reached {reached}, over {clients} clients in {row.rounds} rounds."


def shared_environment(runs: Sequence[RunData]) -> JsonObject:
    """The entries of environment.json that are the same in all runs."""
    first = runs[0].environment
    return {name: value for name, value in first.items() if all(each.environment.get(name) == value for each in runs)}


def warnings(run: RunData) -> list[str]:
    """What a reader must know before relying on a number of this run."""
    found: list[str] = []
    refused, silent, resumed = 0, 0, 0
    for event in run.events:
        if isinstance(event, TrafficEvent):
            refused, silent = refused + len(event.refused), silent + len(event.silent)
        resumed += isinstance(event, ResumeEvent) and event.repaired
    for count, what in ((refused, "replies were refused"), (silent, "questions had no answer"), (resumed, "repairs")):
        if count:
            found.append(f"{run.path}: {count} {what}")
    if run.result is not None and run.result.get("diverged") is True:
        why = mapping(run.result.get("divergence"))
        found.append(f"{run.path}: training diverged: {why.get('reason')}; {why.get('advice')}")
    if run.result is not None and run.result.get("accuracy") is None:
        found.append(f"{run.path}: nobody could be evaluated")
    return found


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
