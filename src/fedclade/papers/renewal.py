"""Runs of another experiment than the one that is asked for now make way for it: a recipe or the data have changed."""

import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from fedclade.data.registry import SOURCES
from fedclade.nouns import InputError
from fedclade.papers.item import Setting, Terms
from fedclade.runs import lock
from fedclade.runs.compare import asked_of
from fedclade.runs.experiment import Experiment
from fedclade.runs.folder import RunFolder, is_run

WRITTEN = {
    *("experiment.toml", "environment.json", "events.jsonl", "clients.arrows", "clients.parquet"),
    *("arrays", "checkpoint", "models", "result.json", "report.html", lock.NAME),
}
"""What runs and reports write into a run folder; beside it only what was being written when a run was killed."""


def check_data(settings: tuple[Setting, ...]) -> None:
    """Everything that is learnt from is here, or is fetched now: before any run makes way."""
    needed = [str(setting.data["source"]) for setting in settings]
    needed += [source for setting in settings for encoder in setting.encoders for source in encoder.sources]
    needed += [network.source for setting in settings for network in setting.networks]
    for source in dict.fromkeys(needed):
        if source in SOURCES and not SOURCES[source].here():
            SOURCES[source].fetch()


def make_way(plans: Mapping[Path, Experiment], terms: Terms, tell: Callable[[str], None]) -> None:
    """Remove the runs that are of another experiment than planned; an error if one of them is not only ours."""
    others = [path for path, plan in plans.items() if is_run(path) and not is_of(path, plan)]
    for path in others:
        check_ours(path, terms)
    for path in others:
        tell(f"{path.parent.name} {path.name}: the run there is of another experiment; it is removed and made anew")
        shutil.rmtree(path)


def is_of(path: Path, plan: Experiment) -> bool:
    """Whether the run in this folder is of this experiment."""
    try:
        return asked_of(RunFolder.open(path).asked()) == asked_of(plan.toml())
    except tomllib.TOMLDecodeError:
        return False


def check_ours(path: Path, terms: Terms) -> None:
    """An error unless this is a folder that reproduce has made, with nothing of anybody else in it."""
    runs = (terms.folder / terms.name / "runs").resolve()
    strange = sorted(entry.name for entry in path.iterdir() if entry.name not in WRITTEN and not is_aside(entry.name))
    inside = not path.is_symlink() and path.resolve().parent.parent == runs
    if strange or not inside:
        raise InputError(
            "a run of another experiment is in the way",
            where=str(path),
            got=f"{', '.join(strange)} beside it" if strange else "a folder from elsewhere",
            need="nothing but a run of fedclade reproduce, which would be made anew",
            do="move it away, or give another --out",
        )
    if holder := lock.holder_of(path):
        raise lock.taken(path, holder)


def is_aside(name: str) -> bool:
    """Whether it is a file as it was being written."""
    return name.startswith(".") and name.endswith(".new")
