"""Several methods on one experiment, over several seeds: a folder of run folders, which can be resumed as a whole."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from fedclade.client import one_thread
from fedclade.core import InputError
from fedclade.core.settings import names_of
from fedclade.data import Federation
from fedclade.fleet.simulated import cores
from fedclade.fleet.site import OwnNet
from fedclade.methods import AnyMethod, Selection
from fedclade.runs.experiment import (
    EngineSettings,
    Experiment,
    apply_changes,
    experiment_from,
    method_from,
    without_keys,
)
from fedclade.runs.loop import ProgressCallback
from fedclade.runs.parallel import Work, run_parallel
from fedclade.runs.run import Run, ignore_progress, resume, start
from fedclade.runs.start_from import start_weights
from fedclade.runs.target import NO_TARGET, MetricTarget
from fedclade.store.files import BASELINES_FOLDER, EXPERIMENT_FILE, is_run
from fedclade.store.run_folder import RunFolder

Plans = Mapping[Path, Experiment]
"""The experiments to run, by folder."""
MAX_FEDERATIONS = 2  # that are kept for other runs of the same seed


def plan_runs(experiment: Experiment, methods: Sequence[str], seeds: int, out: Path) -> Plans:
    """Every method with every seed from the experiment's on. A method may have settings: `ifca:clusters=5,trial=3`.

    Two specs of the same method and settings are run once: their runs would be taken for those of more seeds.
    """
    made: dict[str, Experiment] = {}
    for spec in methods:
        method, selection = parse_method(spec, experiment)
        if (plan := replace(experiment, method=method, selection=selection, compare=NO_TARGET)) not in made.values():
            made[spec] = plan
    return {
        out / f"{folder_name(spec)}-seed{seed}": plan.with_seed(seed)
        for seed in range(experiment.run.seed, experiment.run.seed + seeds)
        for spec, plan in made.items()
    }


def parse_method(spec: str, experiment: Experiment) -> tuple[AnyMethod, Selection]:
    """The method of a spec; the experiment's own method has the experiment's settings where the spec gives none."""
    name, colon, settings = spec.partition(":")
    same = name == experiment.method_name
    if not colon:
        return (experiment.method, experiment.selection) if same else method_from({"name": name})
    given = [setting.partition("=")[0].strip() for setting in settings.split(",")]
    same &= "preset" not in given  # or the experiment's settings would go over the preset
    before = without_keys(tomllib.loads(experiment.toml())["method"], "name") if same else {}
    if "selection" in given:
        before = without_keys(before, *names_of(Selection))  # of another selection
    tables: dict[str, object] = {"method": before}
    if not all("=" in setting for setting in settings.split(",")):
        raise InputError("a method is not usable", where="--method", got=f'"{spec}"', need="name:key=value,...")
    apply_changes(tables, [f"method.{setting}" for setting in settings.split(",")])
    table = tables["method"]
    assert isinstance(table, dict)
    return method_from({**table, "name": name})


def folder_name(spec: str) -> str:
    """A method and its settings as a part of a path."""
    return "".join(letter if letter.isalnum() or letter in "-_.=" else "-" for letter in spec)


def compare(
    plans: Plans,
    *,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    jobs: int = 1,
    target: MetricTarget = NO_TARGET,
    progress_for: Callable[[Path], ProgressCallback] = lambda _: ignore_progress,
) -> tuple[Run, ...]:
    """Run all plans, `jobs` at a time. Finished runs are kept, stopped ones are resumed.

    A target that the task of these plans cannot have is an error before any work.
    """
    cache = FederationCache(federation)
    first = next(iter(plans.values()), None)
    if target.target is not None and first is not None and (known := cache.federation_for(first)) is not None:
        target.check_task(known.task)
    here = finish(plans, cache, own_net=own_net, jobs=jobs, progress_for=progress_for)
    return tuple(
        here[path] if path in here else prepare_run(path, plan, cache, own_net)(ignore_progress)
        for path, plan in plans.items()
    )


def finish(
    plans: Plans,
    cache: "FederationCache",
    *,
    own_net: OwnNet | None = None,
    jobs: int = 1,
    progress_for: Callable[[Path], ProgressCallback] = lambda _: ignore_progress,
    extra_work: Mapping[Path, Work] = MappingProxyType({}),
) -> dict[Path, Run]:
    """As `compare`; returns the runs that were made in this process.

    `extra_work` is other work for the same processors, which begins before the runs: later runs use its results.
    """
    there = {path: RunFolder.open(path) for path in plans if is_run(path)}
    for path, folder in there.items():  # before any work
        if settings_without_engine(folder.experiment_toml()) != settings_without_engine(plans[path].toml()):
            do = "give another --out, or remove it"
            raise InputError("there is a run of another experiment", where=str(path), need="the same settings", do=do)
    left = {path: plan for path, plan in plans.items() if not (path in there and there[path].is_finished)}
    if min(jobs, len(extra_work) + len(left)) > 1:
        names = [*extra_work, *left]
        others = [partial(identity, work) for work in extra_work.values()]
        runs = [partial(prepare_run, path, without_workers(plan), cache, own_net) for path, plan in left.items()]
        run_parallel([*others, *runs], jobs, lambda number: progress_for(names[number]))
        return {}
    for path, work in extra_work.items():
        with one_thread():  # as in a process of its own: sums of several threads are other sums
            work(progress_for(path))
    return {path: prepare_run(path, plan, cache, own_net)(progress_for(path)) for path, plan in left.items()}


def identity(work: Work) -> Work:
    """Work that needs no preparation."""
    return work


def prepare_run(
    path: Path, plan: Experiment, cache: "FederationCache", own_net: OwnNet | None
) -> Callable[[ProgressCallback], Run]:
    """One run, with its examples: it is started or resumed when called."""
    return partial(start_or_resume, path, plan, cache.federation_for(plan), own_net)


def start_or_resume(
    path: Path, plan: Experiment, federation: Federation | None, own_net: OwnNet | None, progress: ProgressCallback
) -> Run:
    """One run, from where it is."""
    if is_run(path):
        workers = plan.engine.workers if isinstance(plan.engine, EngineSettings) else None
        weights = None
        with suppress(InputError):  # a file that is gone: the run keeps what it was started from
            weights = start_weights(plan)
        return resume(path, federation=federation, own_net=own_net, workers=workers, progress=progress, weights=weights)
    return start(plan, out=path, federation=federation, own_net=own_net, progress=progress)


class FederationCache:
    """The federations of plans: one for each seed, for all methods."""

    def __init__(self, federation: Federation | None) -> None:
        self._given = federation
        self._federations: dict[str, Federation] = {}

    def federation_for(self, plan: Experiment) -> Federation | None:
        """The federation of this plan; None where the engine makes it."""
        if self._given is not None or not isinstance(plan.engine, EngineSettings):
            return self._given
        key = f"{plan.run.seed} {sorted(plan.data.items(), key=str)}"
        if key not in self._federations:
            while len(self._federations) >= MAX_FEDERATIONS:
                del self._federations[next(iter(self._federations))]
            self._federations[key] = plan.federation()
        return self._federations[key]


def without_workers(plan: Experiment) -> Experiment:
    """The plan of a run in a process of its own, beside others. Its result is the same."""
    return replace(plan, engine=replace(plan.engine, workers=0)) if isinstance(plan.engine, EngineSettings) else plan


def best_jobs(experiment: Experiment, count: int) -> int:
    """How many of `count` runs to play at once: one for each processor, where processes can be forked."""
    if not isinstance(experiment.engine, EngineSettings) or not hasattr(os, "fork"):
        return 1
    return max(1, min(cores(), count))


def settings_without_engine(toml: str) -> dict[str, object]:
    """An experiment without its engine, on which no result depends.

    Settings that are newer than the file have their defaults.
    """
    tables = tomllib.loads(toml)
    with suppress(InputError):  # it has settings that this fedclade does not know: it is another experiment
        tables = tomllib.loads(experiment_from(tables).toml())
    return {name: table for name, table in tables.items() if name != "engine"}


def baselines_of(run: Path) -> tuple[RunFolder, ...]:
    """The runs of baselines beside the run of own data."""
    return tuple(RunFolder.open(path) for path in sorted((run / BASELINES_FOLDER).glob("*")) if is_run(path))


def runs_below(folder: Path) -> tuple[RunFolder, ...]:
    """The folder itself if it is one of a run, with its finished baselines; else every run in it and two levels below.

    Oldest name first.
    """
    if is_run(folder):
        return (RunFolder.open(folder), *(each for each in baselines_of(folder) if each.is_finished))
    found = (path.parent for above in ("*", "*/*") for path in folder.glob(f"{above}/{EXPERIMENT_FILE}"))
    return tuple(RunFolder.open(path) for path in sorted(found) if is_run(path))
