"""The report: one HTML file that works offline, about one run or several side by side."""

from collections.abc import Sequence
from pathlib import Path

from fedclade import __version__
from fedclade.nouns import InputError
from fedclade.report.comparison import HEADINGS, TO_TARGET, as_text, compared, harmed_clients, with_target
from fedclade.report.figures import accuracy_curves, client_strips, colours
from fedclade.runs.durable import write_file
from fedclade.runs.experiment import PYTHON
from fedclade.runs.folder import RunFolder


def write_report(folders: Sequence[RunFolder], path: Path, target: float | None = None) -> Path:
    """Write the report of these runs, all of them finished; with the way to a target accuracy, if one is given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

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
    if not path.parent.is_dir() or path.is_dir():
        raise InputError("the report cannot be written", where=str(path), need="a file in a folder that exists")
    lines = compared(folders, target)
    shades = colours([line.method for line in lines])
    page = Environment(
        loader=PackageLoader("fedclade.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).get_template("report.html")
    content = page.render(
        verdict=verdict(folders),
        headings=HEADINGS if target is None else HEADINGS + TO_TARGET,
        rows=[as_text(line) if target is None else with_target(line) for line in lines],
        figures=[accuracy_curves(folders, shades), client_strips(folders, shades)],
        plotly=get_plotlyjs(),
        runs=[
            {
                "path": str(folder.path),
                "result": folder.result(),
                "environment": folder.environment(),
                "experiment": folder.asked(),
                "from_python": f'"{PYTHON}"' in folder.asked(),
                "harmed": hurt,
                "problems": problems(folder),
            }
            for folder, hurt in zip(folders, harmed_clients(folders), strict=True)
        ],
        version=__version__,
    )
    try:
        write_file(path, content.encode())
    except OSError as wrong:
        raise InputError("the report cannot be written", where=str(path), got=wrong.strerror or str(wrong)) from None
    return path


def verdict(folders: Sequence[RunFolder]) -> str:
    """The whole report in a sentence."""
    lines = compared(folders)
    best = max(lines, key=lambda line: line.accuracy)
    clients = len(folders[0].models().clients)
    if len(lines) == 1:
        reached = f"{100 * best.accuracy:.1f} % mean accuracy over {clients} clients"
        return f"{best.method} reached {reached} in {best.rounds} rounds."
    others = ", ".join(f"{line.method} {100 * line.accuracy:.1f} %" for line in lines if line is not best)
    return f"{best.method} was best: {100 * best.accuracy:.1f} % mean accuracy over {clients} clients ({others})."


def problems(folder: RunFolder) -> list[str]:
    """What went wrong on the way: refused replies, silent clients, repairs."""
    found: list[str] = []
    for event in folder.events():
        for refusal in event.get("refused") or ():  # type: ignore[attr-defined]  # our own file: a list of objects
            found.append(f"round {event['round']}: reply of {refusal['client']} refused, {refusal['reason']}")
        for silent in event.get("silent") or ():  # type: ignore[attr-defined]  # likewise
            found.append(f"round {event['round']}: {silent['client']} did not answer ({silent['verb']})")
        if event["event"] == "resume":
            found.append(f"resumed after round {event['round']}" + (", repaired" if event["repaired"] else ""))
    return found
