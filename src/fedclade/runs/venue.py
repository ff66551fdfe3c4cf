"""Where a run is played: the form of its data, and the fleet that holds them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedclade.data import Federation
from fedclade.data.recipe import SITES
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import simulated_fleet
from fedclade.fleet.site import ModelSpec
from fedclade.local import is_built, learned, path_for, state_of_kernel
from fedclade.nets import NETS, Net, net_for, net_of
from fedclade.nets.blind import secret
from fedclade.nouns import Groups, InputError, Round
from fedclade.runs.experiment import PYTHON, EngineSettings, Experiment, FlowerSettings, rest

if TYPE_CHECKING:
    from fedclade.fleet.flower.grid import Deadlines


@dataclass(frozen=True)
class Venue:
    """What a run must know of its clients before the first message."""

    shape: tuple[int, ...]
    """Of one example."""
    classes: int
    fingerprint: str
    """Of the data, by which a run that is resumed knows them again."""
    truth_at: Callable[[int], Groups | None]
    """The planted groups of a round."""
    check: Callable[[Net], None]
    """An error unless the net can be trained on such data."""
    fleet: Callable[[Net], AbstractContextManager[Fleet]]
    path: Callable[[Net], str] = lambda _: "as each site can"
    """How clients train a net: see `fedclade.local.plan`."""


def venue_of(experiment: Experiment, federation: Federation | None) -> Venue:
    """The venue of an experiment whose examples this machine has."""
    held = experiment.federation() if federation is None else federation
    engine = experiment.engine
    if isinstance(engine, FlowerSettings) and (federation is not None or experiment.source == PYTHON):
        raise InputError(
            "Flower's processes cannot see a Python object",
            where="engine.name",
            got="a federation made in Python",
            need="data that [data] describes",
            do='write them to files and use source = "own", or engine.name = "simulated"',
        )

    def check(net: Net) -> None:
        if experiment.local.blind:
            secret()  # this machine plays the clients too
        some = held[held.clients[0]].train.inputs
        net.check(some[:1], held.classes)
        validation = experiment.method.needs().validation
        now = Round(1, experiment.run.seed, local=experiment.local, validation=validation)
        net.check(some[: shortest_batch(held, now)], held.classes, training=True)

    def fleet(net: Net) -> AbstractContextManager[Fleet]:
        return simulated(held, net, engine) if isinstance(engine, EngineSettings) else on_flower(held, net, experiment)

    if isinstance(engine, FlowerSettings):
        need_flower("flwr", "ray")
    asked = engine.path if isinstance(engine, EngineSettings) else "auto"
    return Venue(
        held.shape, held.classes, held.fingerprint, held.truth_at, check, fleet, lambda net: path_for(net, asked)
    )


def check_sites(experiment: Experiment) -> tuple[tuple[int, ...], int]:
    """The shape and the classes of examples at sites; an error unless the experiment's net can be trained on such."""
    if experiment.source != SITES:
        raise InputError(
            "a deployed app has its data at the sites",
            where="data.source",
            got=f'"{experiment.source}"',
            need=f'"{SITES}", with shape and classes',
        )
    shape, classes = experiment.data["shape"], experiment.data["classes"]
    assert isinstance(shape, tuple)  # as the recipe made them
    assert isinstance(classes, int)
    if experiment.net["name"] != PYTHON:
        net = net_for(str(experiment.net["name"]), shape, classes, rest(experiment.net, "name"))
        for count, training in ((1, False), (experiment.local.batch, True)):
            net.check(np.zeros((count, *shape), np.float32), classes, training=training)
    return shape, classes


def simulated(held: Federation, net: Net, engine: EngineSettings) -> AbstractContextManager[Fleet]:
    """Worker processes of this machine."""
    return simulated_fleet(held, net, workers=engine.workers, path=engine.path)


def on_flower(held: Federation, net: Net, experiment: Experiment) -> AbstractContextManager[Fleet]:
    """Flower's simulation on Ray."""
    from fedclade.fleet.flower.simulation import FlowerSimulation  # an extra, and slow to load

    engine = experiment.engine
    assert isinstance(engine, FlowerSettings)
    return FlowerSimulation(
        held,
        experiment.data,
        experiment.run.seed,
        net,
        ModelSpec(experiment.net, held.shape, held.classes),
        deadlines_of(engine),
        workers=engine.workers,
        wait_seconds=engine.wait_seconds,
        address=engine.ray,
    )


def deadlines_of(engine: FlowerSettings) -> "Deadlines":
    """Seconds for each verb."""
    from fedclade.fleet.flower.grid import Deadlines

    return Deadlines(
        train=engine.train_seconds,
        losses=engine.losses_seconds,
        evaluate=engine.evaluate_seconds,
        sketch=engine.sketch_seconds,
        enrol=engine.enrol_seconds,
    )


def need_flower(*packages: str) -> None:
    """An error unless these packages of Flower, which is an extra, are installed."""
    from importlib.util import find_spec

    if any(find_spec(package) is None for package in packages):
        raise InputError(
            "Flower is not installed",
            where="engine.name",
            got='"flower"',
            need="flwr 1.41",
            do="pip install 'fedclade[flower]'",
        )


def shortest_batch(held: Federation, now: Round) -> int:
    """The smallest number of examples that a step of training will have: the last of an epoch may be short."""
    sizes = [len(learned(data.train, now, client)) for client, data in held.data.items()]
    batch = now.local.batch
    if now.local.steps:
        return min(batch, *sizes)
    return min(size % batch or min(size, batch) for size in sizes)


def paths_here() -> tuple[bool, str, dict[str, str]]:
    """Whether the compiled kernel is here, what is to be said of it, and how each of our nets is trained here."""
    found: dict[str, str] = {}
    for name, made in NETS.own.items():
        try:
            found[name] = path_for(net_of(name, made(), (1, 28, 28), 10))
        except InputError:  # reads words, not images
            found[name] = path_for(net_of(name, made(), (32,), 4))
    return is_built(), state_of_kernel(), found
