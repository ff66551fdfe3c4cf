"""Where a run is played: the form of its data, and the fleet that holds them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedclade.data import Federation
from fedclade.fleet.simulated import SimulatedFleet
from fedclade.fleet.site import Task
from fedclade.nets import Net
from fedclade.nouns import Groups, InputError
from fedclade.runs.experiment import PYTHON, EngineSettings, Experiment, FlowerSettings
from fedclade.runs.loop import Engine

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
    fleet: Callable[[Net], AbstractContextManager[Engine]]


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
        some = held[held.clients[0]].train.inputs
        net.check(some[:1], held.classes)
        net.check(some[: shortest_batch(held, experiment.local.batch)], held.classes, training=True)

    def fleet(net: Net) -> AbstractContextManager[Engine]:
        return simulated(held, net, engine) if isinstance(engine, EngineSettings) else on_flower(held, net, experiment)

    if isinstance(engine, FlowerSettings):
        need_flower()
    return Venue(held.shape, held.classes, held.fingerprint, held.truth_at, check, fleet)


def simulated(held: Federation, net: Net, engine: EngineSettings) -> AbstractContextManager[Engine]:
    """Worker processes of this machine."""
    return SimulatedFleet(held, net, workers=engine.workers)


def on_flower(held: Federation, net: Net, experiment: Experiment) -> AbstractContextManager[Engine]:
    """Flower's simulation on Ray."""
    from fedclade.fleet.flower.simulation import FlowerSimulation  # an extra, and slow to load

    engine = experiment.engine
    assert isinstance(engine, FlowerSettings)
    return FlowerSimulation(
        held,
        experiment.data,
        experiment.run.seed,
        net,
        Task(experiment.net, held.shape, held.classes),
        deadlines_of(engine),
        workers=engine.workers,
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
        moments=engine.sketch_seconds,
        changed=engine.sketch_seconds,
        enrol=engine.enrol_seconds,
    )


def need_flower() -> None:
    """An error unless Flower, which is an extra, is installed."""
    from importlib.util import find_spec

    if find_spec("flwr") is None:
        raise InputError(
            "Flower is not installed",
            where="engine.name",
            got='"flower"',
            need="flwr 1.41",
            do="pip install 'fedclade[flower]'",
        )


def shortest_batch(held: Federation, batch: int) -> int:
    """The smallest number of examples that a step of training will have: the last of an epoch may be short."""
    sizes = [len(data.train) for data in held.data.values()]
    return min(size % batch or min(size, batch) for size in sizes)
