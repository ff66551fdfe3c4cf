"""A federation in this machine: every client's part is played by a worker, from the examples it holds."""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from fedclade.data import Federation
from fedclade.fleet.build import fleet_over
from fedclade.fleet.fleet import Fleet
from fedclade.fleet.transport import Enrolment
from fedclade.fleet.workers import Workers
from fedclade.local import Asked, Client
from fedclade.nets import Net
from fedclade.nouns import ClientId, InputError
from fedclade.wire import Arrival, Refusal, Reply
from fedclade.wire.message import AnyRequest

Wire = Callable[[Iterator[Reply]], Iterable[Arrival]]
"""What becomes of the replies to one call on their way to the server."""


def undisturbed(replies: Iterator[Reply]) -> Iterable[Arrival]:
    """A wire on which nothing happens."""
    return replies


def cores() -> int:
    """Processors that this process may use: more workers than these would only get in each other's way."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Simulation:
    """Carries requests to workers; clients never fail, unless the wire loses, delays or changes their replies."""

    def __init__(
        self, federation: Federation, net: Net, *, workers: int = 1, wire: Wire = undisturbed, path: Asked = "auto"
    ) -> None:
        if workers < 0:
            raise InputError("too few workers", where="engine.workers", got=str(workers), need="0 or more")
        known = federation.without_truth()
        client = Client(net, path)
        self._known, self._wire = known, wire
        self._enrolled: dict[ClientId, Enrolment] = {}
        self._turns = sorted({*known.joins.values(), *(change.round for change in known.changes)})
        self._stage = 0
        some = known[known.clients[0]].train.pool.inputs
        self._workers = Workers(
            partial(client.answers, held=known.held),
            min(workers, len(known), cores()),
            warm=lambda: client.warm(some),
            together=client.together,
        )
        self.begin(0)

    def begin(self, number: int) -> tuple[Refusal, ...]:
        """Costs nothing where nothing has changed."""
        stage = bisect_right(self._turns, number)
        if not self._enrolled or stage != self._stage:
            self._stage = stage
            held = {client: self._known.held(client, number) for client in self._known.present(number)}
            self._enrolled = {client: Enrolment(len(data.train), len(data.test)) for client, data in held.items()}
        return ()

    def enrolled(self) -> Mapping[ClientId, Enrolment]:
        return self._enrolled

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        return self._wire(self._workers.ask(requests.values()))

    @property
    def cpu_seconds(self) -> float:
        return self._workers.cpu_seconds

    def close(self) -> None:
        """Stop the workers."""
        self._workers.close()


def simulated_fleet(
    federation: Federation, net: Net, *, workers: int = 1, wire: Wire = undisturbed, path: Asked = "auto"
) -> Fleet:
    """All clients of a federation, played on this machine: `with simulated_fleet(...) as fleet`."""
    transport = Simulation(federation, net, workers=workers, wire=wire, path=path)
    return fleet_over(transport, net, federation.shape, federation.classes)
