"""What ABC's network learns from: a federated run that the server watches, and what it learns itself from its own data.

In every round all clients train the common model for a few steps, and the server trains it for as many on reference
examples of its own. A drift is what that changed. The reference examples are no client's, neither to learn from nor to
be tested on: the paper takes them from the test set that it stops by.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Federation, Part
from fedclade.data.examples import Source
from fedclade.data.federation import Change, ClientData
from fedclade.fleet.simulated import SimulatedFleet
from fedclade.nets import Net
from fedclade.nouns import Assignment, ClientId, InputError, LocalTraining, Round, Rows, generator

SERVER: ClientId = "the server"  # plays a client of a fleet of its own

Drifts = NDArray[np.float32]
Watch = Callable[[int, float], None]
"""Told of each round: its number, and the clients' mean training loss."""
Shorten = Callable[[Rows], Rows]
"""What is kept of drifts: (drifts, parameters) in, (drifts, fewer) out."""


@dataclass(frozen=True, eq=False)
class Watched:
    """The drifts of a run."""

    clients: tuple[ClientId, ...]
    drifts: Drifts
    """(rounds, clients, numbers)"""
    reference: Drifts
    """(rounds, numbers): what the server's own examples did to the same model in as many steps."""


def watched(
    federation: Federation,
    reference: Part,
    net: Net,
    *,
    local: LocalTraining,
    steps: int,
    rounds: int,
    seed: int,
    watch: Watch = lambda _, __: None,
    shorten: Shorten = lambda drifts: drifts,
) -> Watched:
    """FedAvg with everybody in every round, and its drifts."""
    many = steps * local.batch
    served = Federation("reference", {SERVER: ClientData(reference, reference)}, federation.classes)
    model = net.first(seed)
    seen: list[Drifts] = []
    aims: list[Drifts] = []
    with (
        SimulatedFleet(in_slices(federation, many, rounds, seed), net, workers=0) as fleet,
        SimulatedFleet(in_slices(served, many, rounds, seed), net, workers=0) as server,
    ):
        for number in range(1, rounds + 1):
            now = Round(number, seed, local=local)
            for each in (fleet, server):
                each.begin(number)
            updates = fleet.train(Assignment.of_one(model, fleet.clients()), now)
            own = server.train(Assignment.of_one(model, server.clients()), now)
            seen.append(shorten(updates.rows - model))
            aims.append(shorten(own.rows - model)[0])
            model = updates.rows.mean(axis=0, dtype=np.float64).astype(np.float32)
            watch(number, updates.loss)
    return Watched(updates.clients, np.stack(seen), np.stack(aims))


def in_slices(federation: Federation, many: int, rounds: int, seed: int) -> Federation:
    """The same clients, each with its next so many training examples in every round: a few steps of an epoch."""
    changes = []
    orders = {client: order(len(held.train), many * rounds, seed, client) for client, held in federation.data.items()}
    for number in range(1, rounds + 1):
        data: Mapping[ClientId, ClientData] = {
            client: replace(
                held,
                train=replace(held.train, index=held.train.index[orders[client][(number - 1) * many : number * many]]),
            )
            for client, held in federation.data.items()
        }
        changes.append(Change(number, data, None))
    return replace(federation, truth=None, changes=tuple(changes))


def order(examples: int, wanted: int, seed: int, client: ClientId) -> NDArray[np.int64]:
    """So many positions: every epoch goes through all examples in an order of its own."""
    epochs = -(-wanted // examples)
    drawn = [generator(seed, "slices", client, epoch).permutation(examples) for epoch in range(epochs)]
    return np.concatenate(drawn)[:wanted]


def reference_of(source: Source, federation: Federation, count: int, seed: int) -> Part:
    """So many examples, as many of each class, that no client has: official test ones where the source has some."""
    pool = source.train if source.test is None else source.test
    held = [part.index for each in federation.data.values() for part in (each.train, each.test) if part.pool is pool]
    free = np.setdiff1d(np.arange(len(pool.labels)), np.concatenate(held) if held else np.zeros(0, np.int64))
    each = count // source.classes
    chosen = []
    for label in range(source.classes):
        there = free[pool.labels[free] == label]
        if not 0 < each <= len(there):
            raise InputError(
                "too few examples for the server",
                where="the reference data",
                got=f"{len(there)} of class {label} that no client has",
                need=f"{max(each, 1)} of each class",
                do="ask for fewer, or for smaller clients",
            )
        chosen.append(generator(seed, "reference", label).permutation(there)[:each])
    return Part(pool, np.sort(np.concatenate(chosen)).astype(np.int64))
