"""Several methods on one experiment, over several seeds: a folder of run folders, which can be resumed as a whole."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fedclade.data import Federation
from fedclade.methods import method_named
from fedclade.nouns import InputError
from fedclade.runs.experiment import Experiment
from fedclade.runs.folder import RunFolder, is_run
from fedclade.runs.loop import Watch
from fedclade.runs.run import OwnNet, Run, resume, start, unwatched

Plans = Mapping[Path, Experiment]
"""What is to be run in which folder."""


def planned(experiment: Experiment, methods: Sequence[str], seeds: int, out: Path) -> Plans:
    """Every method with every seed from the experiment's on."""
    return {
        out / f"{name}-seed{seed}": replace(
            experiment,
            method=experiment.method if name == experiment.method_name else method_named(name),
            run=replace(experiment.run, seed=seed),
        )
        for seed in range(experiment.run.seed, experiment.run.seed + seeds)
        for name in dict.fromkeys(methods)
    }


def compare(
    plans: Plans,
    *,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    watch: Callable[[Experiment], Watch] = lambda _: unwatched,
) -> tuple[Run, ...]:
    """Run them all. Finished runs are kept, stopped ones are resumed."""
    for path, plan in plans.items():  # before any work: is what is there already what is asked for?
        if is_run(path) and asked_of(RunFolder.open(path).asked()) != asked_of(plan.toml()):
            raise InputError(
                "there is a run of another experiment",
                where=str(path),
                need="the same settings",
                do="give another --out, or remove it",
            )
    runs: list[Run] = []
    for path, plan in plans.items():
        if is_run(path):
            runs.append(resume(path, federation=federation, own_net=own_net, watch=watch(plan)))
        else:
            runs.append(start(plan, out=path, federation=federation, own_net=own_net, watch=watch(plan)))
    return tuple(runs)


def asked_of(toml: str) -> dict[str, object]:
    """An experiment without its engine, on which no result depends."""
    return {name: table for name, table in tomllib.loads(toml).items() if name != "engine"}


def runs_below(folder: Path) -> tuple[RunFolder, ...]:
    """The folder itself if it is one of a run, else every run in it and two levels below, oldest name first."""
    if is_run(folder):
        return (RunFolder.open(folder),)
    found = (path.parent for pattern in ("*/experiment.toml", "*/*/experiment.toml") for path in folder.glob(pattern))
    return tuple(RunFolder.open(path) for path in sorted(found) if is_run(path))
