"""Several methods on one experiment, over several seeds: a folder of run folders, which can be resumed as a whole."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from fedclade.data import Federation
from fedclade.fleet.simulated import cores
from fedclade.local import one_thread
from fedclade.methods import AnyMethod, Selection
from fedclade.nouns import InputError
from fedclade.nouns.settings import names_of
from fedclade.runs.abreast import Work, abreast
from fedclade.runs.experiment import EngineSettings, Experiment, experiment_from, lay_over, method_from, rest
from fedclade.runs.folder import RunFolder, is_run
from fedclade.runs.loop import Watch
from fedclade.runs.run import OwnNet, Run, resume, start, unwatched

Plans = Mapping[Path, Experiment]
"""What is to be run in which folder."""
KEPT = 2  # federations that are kept while others still need them


def planned(experiment: Experiment, methods: Sequence[str], seeds: int, out: Path) -> Plans:
    """Every method with every seed from the experiment's on. A method may have settings: `ifca:clusters=5,trial=3`.

    What is the same in other words is run once: its runs would be taken for those of more seeds.
    """
    made: dict[str, tuple[AnyMethod, Selection]] = {}
    for asked in methods:
        if (found := asked_method(asked, experiment)) not in made.values():
            made[asked] = found
    return {
        out / f"{folder_name(each)}-seed{seed}": replace(
            experiment, method=method, selection=selection, run=replace(experiment.run, seed=seed)
        )
        for seed in range(experiment.run.seed, experiment.run.seed + seeds)
        for each, (method, selection) in made.items()
    }


def asked_method(asked: str, experiment: Experiment) -> tuple[AnyMethod, Selection]:
    """The method of these words; the one that the experiment names has the experiment's settings where none is said."""
    name, colon, settings = asked.partition(":")
    same = name == experiment.method_name
    if not colon:
        return (experiment.method, experiment.selection) if same else method_from({"name": name})
    before = rest(tomllib.loads(experiment.toml())["method"], "name") if same else {}
    if "selection" in [setting.partition("=")[0].strip() for setting in settings.split(",")]:
        before = rest(before, *names_of(Selection))  # those of another selection mean nothing to it
    tables: dict[str, object] = {"method": before}
    for setting in settings.split(","):
        if not setting.partition("=")[1]:
            raise InputError("a method is not usable", where="--method", got=f'"{asked}"', need="name:key=value,...")
        lay_over(tables, f"method.{setting}")
    table = tables["method"]
    assert isinstance(table, dict)
    return method_from({**table, "name": name})


def folder_name(asked: str) -> str:
    """A method and its settings as a part of a path."""
    return "".join(letter if letter.isalnum() or letter in "-_.=" else "-" for letter in asked)


def compare(
    plans: Plans,
    *,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    jobs: int = 1,
    watch: Callable[[Path], Watch] = lambda _: unwatched,
) -> tuple[Run, ...]:
    """Run them all, so many at a time. Finished runs are kept, stopped ones are resumed."""
    held = Held(federation)
    here = finish(plans, held, own_net=own_net, jobs=jobs, watch=watch)
    return tuple(
        here[path] if path in here else prepared(path, plan, held, own_net)(unwatched) for path, plan in plans.items()
    )


def finish(
    plans: Plans,
    held: "Held",
    *,
    own_net: OwnNet | None = None,
    jobs: int = 1,
    watch: Callable[[Path], Watch] = lambda _: unwatched,
    beside: Mapping[Path, Work] = MappingProxyType({}),
) -> dict[Path, Run]:
    """The same; given back are the runs that were made in this process.

    `beside` is other work for the same processors, which begins before the runs: what it makes is for later ones.
    """
    for path, plan in plans.items():  # before any work: is what is there already what is asked for?
        if is_run(path) and asked_of(RunFolder.open(path).asked()) != asked_of(plan.toml()):
            raise InputError(
                "there is a run of another experiment",
                where=str(path),
                need="the same settings",
                do="give another --out, or remove it",
            )
    left = {path: plan for path, plan in plans.items() if not (is_run(path) and RunFolder.open(path).finished)}
    if min(jobs, len(beside) + len(left)) > 1:
        names = [*beside, *left]
        others = [partial(as_it_is, work) for work in beside.values()]
        runs = [partial(prepared, path, alone(plan), held, own_net) for path, plan in left.items()]
        abreast([*others, *runs], jobs, lambda number: watch(names[number]))
        return {}
    for path, work in beside.items():
        with one_thread():  # as in a process of its own: sums of several threads are other sums
            work(watch(path))
    return {path: prepared(path, plan, held, own_net)(watch(path)) for path, plan in left.items()}


def as_it_is(work: Work) -> Work:
    """Work that needs no examples."""
    return work


def prepared(path: Path, plan: Experiment, held: "Held", own_net: OwnNet | None) -> Callable[[Watch], Run]:
    """One of them, with its examples."""
    return partial(one, path, plan, held.of(plan), own_net)


def one(path: Path, plan: Experiment, federation: Federation | None, own_net: OwnNet | None, watch: Watch) -> Run:
    """One of them, from where it is."""
    if is_run(path):
        workers = plan.engine.workers if isinstance(plan.engine, EngineSettings) else None
        return resume(path, federation=federation, own_net=own_net, workers=workers, watch=watch)
    return start(plan, out=path, federation=federation, own_net=own_net, watch=watch)


class Held:
    """The examples of the plans: those of a seed are made once for all methods."""

    def __init__(self, federation: Federation | None) -> None:
        self._given = federation
        self._made: dict[str, Federation] = {}

    def of(self, plan: Experiment) -> Federation | None:
        """The federation of this plan; None where the engine makes it itself."""
        if self._given is not None or not isinstance(plan.engine, EngineSettings):
            return self._given
        key = f"{plan.run.seed} {sorted(plan.data.items(), key=str)}"
        if key not in self._made:
            while len(self._made) >= KEPT:
                del self._made[next(iter(self._made))]
            self._made[key] = plan.federation()
        return self._made[key]


def alone(plan: Experiment) -> Experiment:
    """The plan of a run that has a processor to itself, beside others: no workers. Its result is the same."""
    return replace(plan, engine=replace(plan.engine, workers=0)) if isinstance(plan.engine, EngineSettings) else plan


def best_jobs(experiment: Experiment, count: int) -> int:
    """How many of so many runs to play at once: one for each processor, where processes can be forked."""
    if not isinstance(experiment.engine, EngineSettings) or not hasattr(os, "fork"):
        return 1
    return max(1, min(cores(), count))


def asked_of(toml: str) -> dict[str, object]:
    """An experiment without its engine, on which no result depends.

    Settings that it does not name, for they are younger than it, have their defaults.
    """
    tables = tomllib.loads(toml)
    with suppress(InputError):  # settings that are older than this fedclade: it is another experiment
        tables = tomllib.loads(experiment_from(tables).toml())
    return {name: table for name, table in tables.items() if name != "engine"}


def runs_below(folder: Path) -> tuple[RunFolder, ...]:
    """The folder itself if it is one of a run, else every run in it and two levels below, oldest name first."""
    if is_run(folder):
        return (RunFolder.open(folder),)
    found = (path.parent for pattern in ("*/experiment.toml", "*/*/experiment.toml") for path in folder.glob(pattern))
    return tuple(RunFolder.open(path) for path in sorted(found) if is_run(path))
