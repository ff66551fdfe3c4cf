"""Outdated runs are removed: a recipe or the code of a method has changed since they were made."""

import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from fedclade.core import InputError
from fedclade.data.registry import SOURCES
from fedclade.runs.compare import settings_without_engine
from fedclade.runs.experiment import Experiment
from fedclade.store import lock
from fedclade.store.durable_files import write_file
from fedclade.store.files import RUN_FILES, is_partial, is_run
from fedclade.store.run_folder import RunFolder
from fedclade_papers.code_digest import code_digest
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
    """Remove the runs of another experiment or by other code; an error, and none is removed, if one has other files."""
    others = {
        path: "by other code of its method" if is_run_of(path, plan) else "of another experiment"
        for path, plan in plans.items()
        if is_run(path) and not (is_run_of(path, plan) and is_by_this_code(path, plan))
    }
    for path in others:
        check_ours(path, terms)
    for path, why in others.items():
        show(f"{path.parent.name} {path.name}: the run there is {why}; it is removed and made anew")
        shutil.rmtree(path)
        code_file(path).unlink(missing_ok=True)


def is_run_of(path: Path, plan: Experiment) -> bool:
    """Whether the run in this folder is of this experiment."""
    try:
        return settings_without_engine(RunFolder.open(path).experiment_toml()) == settings_without_engine(plan.toml())
    except tomllib.TOMLDecodeError:
        return False


def method_digest(plan: Experiment) -> str:
    """A checksum of the code of an experiment's method, and of what that uses of other methods and of clustering."""
    return code_digest(type(plan.method).__module__)


def code_file(path: Path) -> Path:
    """The file beside a run that says by which code of its method it was made."""
    return path.with_name(f"{path.name}.code")


def note_code(path: Path, plan: Experiment) -> None:
    """Note by which code a run was made, unless that was noted before."""
    if not code_file(path).exists():
        write_file(code_file(path), method_digest(plan).encode())


def is_by_this_code(path: Path, plan: Experiment) -> bool:
    """Whether a run was made by the code of its method as it is now; one that is not finished goes on."""
    return not code_file(path).exists() or code_file(path).read_text() == method_digest(plan)


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
