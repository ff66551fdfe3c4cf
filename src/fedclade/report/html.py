"""The report: one HTML file that works offline, about one run or several side by side."""

from collections.abc import Sequence
from math import isnan
from pathlib import Path

from fedclade import __version__
from fedclade.nouns import InputError
from fedclade.report.comparison import HEADINGS, TO_TARGET, Line, as_text, lines_of, with_target
from fedclade.report.figures import drawn
from fedclade.report.harm import harmed_in
from fedclade.report.page import rendered, written
from fedclade.report.story import Facts, Story, listed, mapping, names, read
from fedclade.runs.experiment import PYTHON
from fedclade.runs.folder import RunFolder


def write_report(folders: Sequence[RunFolder], path: Path, target: float | None = None) -> Path:
    """Write the report of these runs, all of them finished; with the way to a target accuracy, if one is given."""
    stories = finished(folders)
    if not path.parent.is_dir() or path.is_dir():
        raise InputError("the report cannot be written", where=str(path), need="a file in a folder that exists")
    lines = lines_of(stories, target)
    content = rendered(
        "report.html",
        drawn(stories),
        verdict=verdict(stories, lines),
        headings=HEADINGS if target is None else HEADINGS + TO_TARGET,
        rows=[as_text(line) if target is None else with_target(line) for line in lines],
        warnings=[warning for story in stories for warning in warnings(story)],
        runs=[told(story, hurt) for story, hurt in zip(stories, harmed_in(stories), strict=True)],
        environment=shared_environment(stories),
        version=__version__,
    )
    return written(content, path)


def finished(folders: Sequence[RunFolder]) -> list[Story]:
    """These runs, read; an error unless there is one, and all are finished and as they were written."""
    if not folders:
        raise InputError("there is no run to report on", need="at least one run folder")
    for folder in folders:
        if not folder.finished:
            raise InputError(
                "a run is not finished",
                where=str(folder.path),
                need="a result.json",
                do=f"fedclade resume {folder.path}",
            )
        folder.verify()
    return [read(folder) for folder in folders]


def told(story: Story, hurt: tuple[str, ...] | None) -> dict[str, object]:
    """One run, as the page tells of it."""
    return {
        "path": str(story.path),
        "result": story.result,
        "environment": story.environment,
        "experiment": story.asked,
        "from_python": f'"{PYTHON}"' in story.asked,
        "harmed": hurt,
        "problems": problems(story),
    }


def verdict(stories: Sequence[Story], lines: Sequence[Line]) -> str:
    """The whole report in a sentence."""
    known = [line for line in lines if not isnan(line.accuracy)]
    if not known:
        return "Nobody could be evaluated."
    best = max(known, key=lambda line: line.accuracy)
    clients = len(stories[0].final_accuracy())
    if len(lines) == 1:
        reached = f"{100 * best.accuracy:.1f} % mean accuracy over {clients} clients"
        return f"{best.method} reached {reached} in {best.rounds} rounds."
    shown = f"{100 * best.accuracy:.1f} %"
    ties = [line.method for line in known if f"{100 * line.accuracy:.1f} %" == shown]
    others = [f"{line.method} {100 * line.accuracy:.1f} %" for line in known if line.method not in ties]
    others += [f"{line.method} not evaluated" for line in lines if isnan(line.accuracy)]
    first = f"{best.method} was best" if len(ties) == 1 else f"{' and '.join(ties)} came out alike"
    rest = f" ({', '.join(others)})" if others else ""
    return f"{first}: {shown} mean accuracy over {clients} clients{rest}."


def shared_environment(stories: Sequence[Story]) -> Facts:
    """What all runs have in common of where they were made."""
    first = stories[0].environment
    return {
        name: value for name, value in first.items() if all(each.environment.get(name) == value for each in stories)
    }


def warnings(story: Story) -> list[str]:
    """What a reader must know before believing a figure of this run."""
    found: list[str] = []
    refused, silent, resumed = 0, 0, 0
    for event in story.events:
        refused += len(listed(event.get("refused")))
        silent += len(listed(event.get("silent")))
        resumed += event.get("event") == "resume" and event.get("repaired") is True
    for count, what in ((refused, "replies were refused"), (silent, "questions had no answer"), (resumed, "repairs")):
        if count:
            found.append(f"{story.path}: {count} {what}")
    if story.result is not None and story.result.get("accuracy") is None:
        found.append(f"{story.path}: nobody could be evaluated")
    return found


def problems(story: Story) -> list[str]:
    """What went wrong on the way, one by one: refused replies, silent clients, repairs."""
    found: list[str] = []
    for event in story.events:
        for refusal in map(mapping, listed(event.get("refused"))):
            found.append(f"round {event['round']}: reply of {refusal['client']} refused, {refusal['reason']}")
        for silent in map(mapping, listed(event.get("silent"))):
            found.append(f"round {event['round']}: {silent['client']} did not answer ({silent['verb']})")
        if event["event"] == "resume":
            found.append(f"resumed after round {event['round']}" + (", repaired" if event["repaired"] else ""))
        if event["event"] in ("left", "returned"):
            found.append(f"round {event['round']}: {', '.join(names(event.get('clients')))} {event['event']}")
    return found
