"""Outdated runs are removed: a recipe or the data have changed, and their folders hold another experiment."""

import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from fedclade.core import InputError
from fedclade.data.registry import SOURCES
from fedclade.runs.compare import settings_without_engine
from fedclade.runs.experiment import Experiment
from fedclade.store import lock
from fedclade.store.files import RUN_FILES, is_partial, is_run
from fedclade.store.run_folder import RunFolder
from fedclade_papers.item import Setting, Terms


def check_data(settings: tuple[Setting, ...]) -> None:
    """Fetch all data that are not here; to be called before a run is removed."""
    needed = [str(setting.data["source"]) for setting in settings]
    needed += [source for setting in settings for encoder in setting.encoders for source in encoder.sources]
    needed += [network.source for setting in settings for network in setting.networks]
    for source in dict.fromkeys(needed):
        if source in SOURCES and not SOURCES[source].is_available():
            SOURCES[source].fetch()


def remove_outdated_runs(plans: Mapping[Path, Experiment], terms: Terms, show: Callable[[str], None]) -> None:
    """Remove the runs of another experiment than planned; an error, and none is removed, if one holds other files."""
    others = [path for path, plan in plans.items() if is_run(path) and not is_run_of(path, plan)]
    for path in others:
        check_ours(path, terms)
    for path in others:
        show(f"{path.parent.name} {path.name}: the run there is of another experiment; it is removed and made anew")
        shutil.rmtree(path)


def is_run_of(path: Path, plan: Experiment) -> bool:
    """Whether the run in this folder is of this experiment."""
    try:
        return settings_without_engine(RunFolder.open(path).experiment_toml()) == settings_without_engine(plan.toml())
    except tomllib.TOMLDecodeError:
        return False


def check_ours(path: Path, terms: Terms) -> None:
    """Raise an error unless this is a folder that reproduce has made, without any other files in it."""
    runs = (terms.folder / terms.name / "runs").resolve()
    strange = sorted(
        entry.name for entry in path.iterdir() if entry.name not in RUN_FILES and not is_partial(entry.name)
    )
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
        raise lock.locked_error(path, holder)
