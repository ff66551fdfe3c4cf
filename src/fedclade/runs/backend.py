"""Where a run is played: the form of its data, and the fleet that holds them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedclade.client import (
    Client,
    PathFacts,
    check_class_weights,
    device_of,
    is_built,
    path_facts,
    path_name_for,
    state_of_kernel,
    trained_examples,
)
from fedclade.core import Groups, InputError, Round
from fedclade.core.task import Task
from fedclade.data import Federation
from fedclade.data.load import prepare
from fedclade.data.recipe import SITES
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import simulated_fleet
from fedclade.fleet.site import ModelSpec
from fedclade.nets import NETS, Net, net_for, net_of
from fedclade.nets.blind import secret
from fedclade.nets.own_task import OwnTask
from fedclade.runs.experiment import PYTHON, EngineSettings, Experiment, FlowerSettings, without_keys

if TYPE_CHECKING:
    from fedclade.fleet.flower.grid import Deadlines


@dataclass(frozen=True)
class Backend:
    """Facts about a run's clients that are needed before the first message."""

    shape: tuple[int, ...]
    """Of one example."""
    task: Task
    """What is learned."""
    fingerprint: str
    """Of the data, by which a run that is resumed knows them again."""
    truth_at: Callable[[int], Groups | None]
    """The planted groups of a round."""
    check: Callable[[Net], None]
    """An error unless the net can be trained on such data."""
    fleet: Callable[[Net], AbstractContextManager[Fleet]]
    path: Callable[[Net], PathFacts] = lambda _: PathFacts("as each site can")
    """How clients train a net: see `fedclade.client.plan`."""
    preparation: bytes = b""
    """How raw data became inputs, as it is stored; empty where they were inputs already."""
    preparation_bytes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """What clients told for it: bytes down and up, by verb."""
    notes: tuple[str, ...] = ()
    """What a user should know of the data."""
    own_task: OwnTask | None = None
    """The functions of a task of the user's own."""


def backend_for(experiment: Experiment, federation: Federation | None) -> Backend:
    """The backend of an experiment, with its examples on this machine."""
    held = experiment.federation() if federation is None else prepare(federation)
    own_task = held.own_task
    assert own_task is None or isinstance(own_task, OwnTask)  # as `fedclade.api` gives it
    engine = experiment.engine
    if isinstance(engine, FlowerSettings) and (federation is not None or experiment.source == PYTHON):
        what, got = "Flower's processes cannot see a Python object", "a federation made in Python"
        do = 'write them to files and use source = "own", or engine.name = "simulated"'
        raise InputError(what, where="engine.name", got=got, need="data that [data] describes", do=do)

    def check(net: Net) -> None:
        if isinstance(engine, EngineSettings):
            device_of(engine.device)  # an error if it is not there
        if experiment.local.blind:
            secret()  # this machine plays the clients too
        first = held[held.clients[0]]
        some, labels = first.train.inputs, first.train.labels
        net.check(some[:1], held.task.count)
        validation = experiment.method.needs().validation
        now = Round(1, experiment.run.seed, local=experiment.local, validation=validation)
        count = shortest_batch(held, now)
        net.check(some[:count], held.task.count, training=True, labels=labels[:count])
        if own_task is not None:  # its metrics are tried too
            Client(net, "general").path.evaluate(net.initial_row(0), first.test)

    def fleet(net: Net) -> AbstractContextManager[Fleet]:
        if isinstance(engine, EngineSettings):
            return simulated_fleet(held, net, workers=engine.workers, path=engine.path, device=engine.device)
        return open_flower(held, net, experiment, engine)

    def path(net: Net) -> PathFacts:
        chosen = (engine.path, engine.device) if isinstance(engine, EngineSettings) else ()
        return path_facts(net, experiment.local, *chosen)

    if isinstance(engine, FlowerSettings):
        from fedclade.fleet.flower import require_flower

        require_flower("flwr", "ray")
    return Backend(
        held.shape,
        held.task,
        held.fingerprint,
        held.truth_at,
        check,
        fleet,
        path,
        held.stored_preparation(),
        held.preparation_bytes,
        held.notes,
        own_task,
    )


def check_sites(experiment: Experiment) -> tuple[tuple[int, ...], Task] | None:
    """The shape of examples at sites and what is learned; None where sites have tables, which nobody has seen yet.

    An error unless the experiment's net can be trained on such.
    """
    if experiment.source != SITES:
        got, need = f'"{experiment.source}"', f'"{SITES}", with shape and classes, or with label'
        raise InputError("a deployed app has its data at the sites", where="data.source", got=got, need=need)
    if "label" in experiment.data:
        return None
    shape, classes = experiment.data["shape"], experiment.data["classes"]
    assert isinstance(shape, tuple)  # as the recipe made them
    assert isinstance(classes, int)
    task = Task(count=classes)
    check_net(experiment, shape, task)
    return shape, task


def check_net(experiment: Experiment, shape: tuple[int, ...], task: Task) -> None:
    """An error unless the experiment's net can be trained on examples of this form."""
    if experiment.net["name"] != PYTHON:
        net = net_for(str(experiment.net["name"]), shape, task.count, without_keys(experiment.net, "name"), task=task)
        check_class_weights(experiment.local, net.task)
        for count, training in ((1, False), (experiment.local.batch, True)):
            net.check(np.zeros((count, *shape), np.float32), task.count, training=training)


def open_flower(
    federation: Federation, net: Net, experiment: Experiment, engine: FlowerSettings
) -> AbstractContextManager[Fleet]:
    """Flower's simulation on Ray."""
    from fedclade.fleet.flower.simulation import FlowerSimulation  # an extra, and slow to load

    return FlowerSimulation(
        federation,
        experiment.data,
        experiment.run.seed,
        net,
        ModelSpec(experiment.net, federation.shape, federation.task, preparation=table_preparation(federation)),
        deadlines_of(engine),
        workers=engine.workers,
        wait_seconds=engine.wait_seconds,
        address=engine.ray,
    )


def table_preparation(federation: Federation) -> bytes:
    """How rows of a table become inputs, for clients elsewhere; empty where these are no tables."""
    return federation.preparation.to_json() if federation.preparation is not None else b""


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


def shortest_batch(federation: Federation, now: Round) -> int:
    """The smallest number of examples that a step of training will have: the last of an epoch may be short."""
    sizes = [len(trained_examples(data.train, now, client)) for client, data in federation.data.items()]
    batch = now.local.batch
    if now.local.steps and now.local.steps_from == "draws":
        return min(batch, *sizes)
    return min(size % batch or min(size, batch) for size in sizes)


def training_paths() -> tuple[bool, str, dict[str, str]]:
    """Whether the compiled kernel is here, its state in words, and how each of our nets is trained here."""
    found: dict[str, str] = {}
    for name, made in NETS.registered_entries.items():
        try:
            found[name] = path_name_for(net_of(name, made(), (1, 28, 28), 10))
        except InputError:  # reads words, not images
            found[name] = path_name_for(net_of(name, made(), (32,), 4))
    return is_built(), state_of_kernel(), found
