"""What ABC's network learns from: the drifts of a federated run, and those of the server on examples of its own.

In every round all clients train the common model for a few steps, and the server trains it for as many on reference
examples of its own. A drift is the change of the model. No client has the reference examples, neither for training nor
for testing: the paper takes them from the test set that it stops by.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Assignment, ClientId, InputError, LocalTraining, Round, Row, Rows, Stopped, generator
from fedclade.data import Federation, Part
from fedclade.data.examples import Source
from fedclade.data.federation import ClientData
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods.abc.attention import prepare_drifts, rms_length
from fedclade.nets import Net

SERVER: ClientId = "server"  # the one client of a fleet of its own

RecordingProgress = Callable[[int], None]
"""Called after each round with its number."""
Keep = Callable[[int, Rows, Row], None]
"""Called with the number of each round, the drifts of clients (clients, parameters) and of the server (parameters,)."""


class DriftRun(Protocol):
    """A run that is ready to be watched."""

    def __call__(self, *, keep: Keep) -> None: ...


@dataclass(frozen=True, eq=False)
class RecordedDrifts:
    """The drifts of a run, over the root mean square length of the clients' in the same round."""

    drifts: NDArray[np.float32]
    """(rounds, clients, numbers)"""
    reference: NDArray[np.float32]
    """(rounds, numbers): what the server's own examples did to the same model in as many steps."""


def run_with_server(
    federation: Federation,
    reference: Part | None,
    net: Net,
    *,
    local: LocalTraining,
    rounds: int,
    seed: int,
    keep: Keep,
) -> None:
    """FedAvg with all clients in every round, and the server beside it; `keep` gets the drifts of each round.

    A server without examples of its own does not drift.
    """
    server = None
    model = net.initial_row(seed)
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


def record_drifts(run: DriftRun, inputs: int, progress: RecordingProgress = lambda _: None) -> RecordedDrifts:
    """The drifts of a whole run as a network with this many inputs reads them."""
    seen: list[NDArray[np.float32]] = []
    aims: list[NDArray[np.float32]] = []

    def keep(number: int, drifts: Rows, own: Row) -> None:
        length = rms_length(drifts)
        seen.append(prepare_drifts(drifts, inputs, length).astype(np.float32))
        aims.append(prepare_drifts(own[None, :], inputs, length)[0].astype(np.float32))
        progress(number)

    run(keep=keep)
    return RecordedDrifts(np.stack(seen), np.stack(aims))


def reference_of(source: Source, federation: Federation, count: int, seed: int) -> Part:
    """`count` examples that no client has, as many of each class: of the official test part where there is one."""
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
