"""A federation in this machine: workers play the clients, from the examples that each holds."""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from fedclade.client import Client, DeviceChoice, PathChoice
from fedclade.core import ClientId, InputError
from fedclade.data import Federation
from fedclade.fleet.build import fleet_over
from fedclade.fleet.fleet import Fleet
from fedclade.fleet.transport import Enrolment
from fedclade.fleet.workers import Workers
from fedclade.nets import Net
from fedclade.wire import Arrival, Refusal, Reply
from fedclade.wire.message import AnyRequest

Wire = Callable[[Iterator[Reply]], Iterable[Arrival]]
"""The replies to one call, as they arrive at the server."""


def pass_through(replies: Iterator[Reply]) -> Iterable[Arrival]:
    return replies


def cores() -> int:
    """Processors that this process may use: more workers than these would only get in each other's way."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Simulation:
    """Carries requests to workers; clients never fail, unless the wire loses, delays or changes their replies."""

    def __init__(
        self,
        federation: Federation,
        net: Net,
        *,
        workers: int = 1,
        wire: Wire = pass_through,
        path: PathChoice = "auto",
        device: DeviceChoice = "cpu",
    ) -> None:
        if workers < 0:
            raise InputError("too few workers", where="engine.workers", got=str(workers), need="0 or more")
        known = federation.without_truth()
        client = Client(net, path, device)
        self._federation, self._wire = known, wire
        self._enrolments: dict[ClientId, Enrolment] = {}
        self._change_rounds = sorted({*known.joins.values(), *(change.round for change in known.changes)})
        self._stage = 0
        some = known[known.clients[0]].train.pool.inputs
        self._workers = Workers(
            partial(client.answer_all, held=known.data_at),
            min(workers, len(known), cores()),
            warm=lambda: client.warm_up(some),
            clients_at_once=client.path.clients_at_once,
        )
        self.begin(0)

    def begin(self, number: int) -> tuple[Refusal, ...]:
        """Costs nothing where nothing has changed."""
        stage = bisect_right(self._change_rounds, number)
        if not self._enrolments or stage != self._stage:
            self._stage = stage
            held = {client: self._federation.data_at(client, number) for client in self._federation.clients_at(number)}
            self._enrolments = {client: Enrolment(len(data.train), len(data.test)) for client, data in held.items()}
        return ()

    def enrolments(self) -> Mapping[ClientId, Enrolment]:
        return self._enrolments

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        return self._wire(self._workers.ask(requests.values()))

    @property
    def cpu_seconds(self) -> float:
        return self._workers.cpu_seconds

    def close(self) -> None:
        self._workers.close()


def simulated_fleet(
    federation: Federation,
    net: Net,
    *,
    workers: int = 1,
    wire: Wire = pass_through,
    path: PathChoice = "auto",
    device: DeviceChoice = "cpu",
) -> Fleet:
    """All clients of a federation, played on this machine: `with simulated_fleet(...) as fleet`."""
    transport = Simulation(federation, net, workers=workers, wire=wire, path=path, device=device)
    return fleet_over(transport, net, federation.shape)
