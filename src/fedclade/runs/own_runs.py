"""A user's own data without a TOML file: the experiment, with FLT, and the baselines that it is compared with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fedclade.core import InputError
from fedclade.data.own import FILE_ENDINGS
from fedclade.data.recipe import OWN_FILES
from fedclade.methods import Selection, method_named
from fedclade.runs.compare import best_jobs
from fedclade.runs.compare import compare as run_plans
from fedclade.runs.experiment import Experiment, apply_changes, experiment_from, read_experiment
from fedclade.runs.loop import ProgressCallback
from fedclade.runs.run import Run
from fedclade.store.files import BASELINES_FOLDER, is_free, is_run

METHOD = "flt"  # where no other is named
BASELINES = ("fedavg", "local")  # one model for all, and one for each client


def is_own_data(path: Path, own: Mapping[str, object]) -> bool:
    """Whether this is data, and not an experiment."""
    if path.suffix.lower() == ".toml":
        return False
    return bool(own) or path.is_dir() or path.name.lower().endswith(FILE_ENDINGS)


def any_experiment(
    path: Path, own: Mapping[str, object], changes: Sequence[str] = (), seed: int | None = None
) -> Experiment:
    """The experiment of a TOML file or of data. What is said of own data goes over what the file says."""
    if not is_own_data(path, own):
        return read_experiment(path, changes, seed, own)
    if is_run(path):
        do = f"fedclade resume {path}, or fedclade report {path}"
        raise InputError("this is the folder of a run", where=str(path), need="an experiment, or data", do=do)
    tables: dict[str, object] = {"data": {"source": OWN_FILES, "path": str(path), **own}, "method": {"name": METHOD}}
    apply_changes(tables, [*changes, *([] if seed is None else [f"run.seed={seed}"])])
    return experiment_from(tables, where="the experiment")


def check_free(out: Path) -> None:
    """An error, before any work, if something else than a run is in the folder."""
    if not is_run(out) and not is_free(out):
        need, do = "a new or empty folder, or the same run", "give another --out"
        raise InputError(
            "the run folder is taken", where=str(out), got="something that is there already", need=need, do=do
        )


def run_with_baselines(
    experiment: Experiment, out: Path, progress_for: Callable[[Path], ProgressCallback]
) -> tuple[Run, tuple[Run, ...]]:
    """The run of an experiment in a folder, and those of its baselines in a folder inside.

    Called again it goes on where it was stopped.
    """
    check_free(out)
    plans = {out: experiment}
    for name in BASELINES:
        if name != experiment.method_name:
            plan = replace(experiment, method=method_named(name, {}), selection=Selection())
            plans[out / BASELINES_FOLDER / name] = plan
    run, *baselines = run_plans(plans, jobs=best_jobs(experiment, len(plans)), progress_for=progress_for)
    return run, tuple(baselines)
