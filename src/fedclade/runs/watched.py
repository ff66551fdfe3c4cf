"""What ABC's network learns from: a federated run that the server watches, and what it learns itself from its own data.

In every round all clients train the common model for a few steps, and the server trains it for as many on reference
examples of its own. A drift is what that changed. The reference examples are no client's, neither to learn from nor to
be tested on: the paper takes them from the test set that it stops by.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Federation, Part
from fedclade.data.examples import Source
from fedclade.data.federation import ClientData
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import Net
from fedclade.nouns import Assignment, ClientId, InputError, LocalTraining, Round, Row, Rows, Stopped, generator
from fedclade.relate.attention import rms_length, taken

SERVER: ClientId = "server"  # the one client of a fleet of its own

Watch = Callable[[int], None]
"""Told of each round: its number."""
Keep = Callable[[int, Rows, Row], None]
"""Given the drifts of each round: its number, the clients' (clients, parameters), the server's own (parameters,)."""


class Run(Protocol):
    """A run that is ready to be watched."""

    def __call__(self, *, keep: Keep) -> None: ...


@dataclass(frozen=True, eq=False)
class Watched:
    """The drifts of a run, over the root mean square length of the clients' in the same round."""

    drifts: NDArray[np.float32]
    """(rounds, clients, numbers)"""
    reference: NDArray[np.float32]
    """(rounds, numbers): what the server's own examples did to the same model in as many steps."""


def watch_run(
    federation: Federation,
    reference: Part | None,
    net: Net,
    *,
    local: LocalTraining,
    rounds: int,
    seed: int,
    keep: Keep,
) -> None:
    """FedAvg with everybody in every round, and the server beside it; each round's drifts are handed over.

    A server without examples of its own does not drift.
    """
    server = None
    model = net.first(seed)
    with ExitStack() as stack:
        fleet = stack.enter_context(simulated_fleet(federation, net, workers=0))
        if reference is not None:
            served = Federation("reference", {SERVER: ClientData(reference, reference)}, federation.classes)
            server = stack.enter_context(simulated_fleet(served, net, workers=0))
        for number in range(1, rounds + 1):
            now = Round(number, seed, local=local)
            updates = fleet.train(Assignment.of_one(model, fleet.clients()), now)
            own = None if server is None else server.train(Assignment.of_one(model, (SERVER,)), now)
            if len(updates.clients) < len(federation) or (own is not None and not own.clients):
                raise Stopped(
                    "not everybody could be heard",
                    where=f"round {number} of the watched run",
                    got=f"{len(updates.clients)} of {len(federation)} clients",
                    need="all of them (if models diverge: a smaller step)",
                )
            keep(number, updates.rows - model, np.zeros_like(model) if own is None else own.rows[0] - model)
            model = np.average(updates.rows, axis=0, weights=updates.examples.astype(np.float64)).astype(np.float32)


def watched(run: Run, inputs: int, watch: Watch = lambda _: None) -> Watched:
    """The drifts of a whole run as a network that reads so many numbers takes them."""
    seen: list[NDArray[np.float32]] = []
    aims: list[NDArray[np.float32]] = []

    def keep(number: int, drifts: Rows, own: Row) -> None:
        length = rms_length(drifts)
        seen.append(taken(drifts, inputs, length).astype(np.float32))
        aims.append(taken(own[None, :], inputs, length)[0].astype(np.float32))
        watch(number)

    run(keep=keep)
    return Watched(np.stack(seen), np.stack(aims))


def reference_of(source: Source, federation: Federation, count: int, seed: int) -> Part:
    """So many examples, as many of each class, that no client has: official test ones where the source has some."""
    pool = source.train if source.test is None else source.test
    held = [part.index for each in federation.data.values() for part in (each.train, each.test) if part.pool is pool]
    free = np.setdiff1d(np.arange(len(pool.labels)), np.concatenate(held) if held else np.zeros(0, np.int64))
    each = count // source.classes
    if not each or count % source.classes:
        raise InputError(
            "the server's examples cannot be shared out",
            where="attention.reference",
            got=str(count),
            need=f"as many of each class: a multiple of {source.classes}",
        )
    chosen = []
    for label in range(source.classes):
        there = free[pool.labels[free] == label]
        if each > len(there):
            raise InputError(
                "too few examples for the server",
                where="the reference data",
                got=f"{len(there)} of class {label} that no client has",
                need=f"{each} of each class",
                do="ask for fewer, or for smaller clients",
            )
        chosen.append(generator(seed, "reference", label).permutation(there)[:each])
    return Part(pool, np.sort(np.concatenate(chosen)).astype(np.int64))
