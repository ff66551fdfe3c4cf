"""A federation in this machine: every client's part is played by a worker, from the examples it holds."""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from fedclade.data import Federation
from fedclade.fleet import server
from fedclade.fleet.gate import Arrival
from fedclade.fleet.protocol import (
    Ask,
    Described,
    Flags,
    Losses,
    Means,
    Refusal,
    Reply,
    Scatter,
    Scores,
    Sketches,
    Sketching,
    Updates,
)
from fedclade.fleet.workers import Workers
from fedclade.local import Asked, Client, is_built, path_for, state_of_kernel
from fedclade.local import one_thread as one_thread  # for runs beside each other too
from fedclade.nets import Net
from fedclade.nets.attention_shelf import attending
from fedclade.nets.shelf import opened
from fedclade.nouns import Assignment, ClientId, InputError, Round, Row, Rows

__all__ = ["SimulatedFleet", "is_built", "path_for", "state_of_kernel", "undisturbed"]

Wire = Callable[[Iterator[Reply]], Iterable[Reply]]
"""What becomes of the replies to one call on their way to the server."""


def undisturbed(replies: Iterator[Reply]) -> Iterable[Reply]:
    """A wire on which nothing happens."""
    return replies


def cores() -> int:
    """Processors that this process may use: more workers than these would only get in each other's way."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SimulatedFleet:
    """All clients of a federation; they never fail, unless the wire is told to lose, delay or change their replies."""

    def __init__(
        self,
        federation: Federation,
        net: Net,
        *,
        workers: int = 1,
        wire: Wire = undisturbed,
        path: Asked = "auto",
    ) -> None:
        if workers < 0:
            raise InputError("too few workers", where="engine.workers", got=str(workers), need="0 or more")
        client = Client(net, path)
        known = federation.without_truth()
        self._known = known
        self._wire = wire
        self._clients: tuple[ClientId, ...] = ()
        self._enrolled: dict[ClientId, int] = {}
        self._tested: dict[ClientId, int] = {}
        self._turns = sorted({*known.joins.values(), *(change.round for change in known.changes)})
        self._stage = 0
        some = known[known.clients[0]].train.pool.inputs
        self._workers = Workers(
            lambda asks: client.answers([(ask, known.held(ask.client, ask.now.number)) for ask in asks]),
            min(workers, len(known), cores()),
            warm=lambda: client.warm(some),
            together=client.together,
        )
        self._post = server.Post(
            parameters=net.size,
            layers=net.layers,
            opened=partial(opened, shape=known.shape),
            classes=known.classes,
            trained=lambda: self._enrolled,
            tested=lambda: self._tested,
            carry=self._carry,
        )
        self.begin(0)

    def __enter__(self) -> "SimulatedFleet":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers."""
        self._workers.close()

    @property
    def cpu_seconds(self) -> float:
        """What the workers have computed so far."""
        return self._workers.cpu_seconds

    def begin(self, number: int) -> tuple[Refusal, ...]:
        """A round begins: who is there now, and with how many examples. Costs nothing where nothing has changed."""
        stage = bisect_right(self._turns, number)
        if self._enrolled and stage == self._stage:
            return ()
        self._stage = stage
        held = {client: self._known.held(client, number) for client in self._known.present(number)}
        self._clients = tuple(held)
        self._enrolled = {client: len(data.train) for client, data in held.items()}
        self._tested = {client: len(data.test) for client, data in held.items()}
        return ()

    def clients(self) -> tuple[ClientId, ...]:
        return self._clients

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        return {client: self._enrolled[client] for client in clients}

    def layers(self) -> tuple[int, ...]:
        return self._post.layers

    def train(self, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
        return server.train(self._post, starts, now, towards)

    def train_mean(self, starts: Assignment, now: Round, encoder: str = "") -> Means:
        return server.train_mean(self._post, starts, now, encoder)

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
        return server.losses(self._post, clients, rows, now)

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        return server.evaluate(self._post, models, now)

    def weights(self, encoder: str) -> Row:
        return self._post.opened(encoder).weights

    def attention(self, network: str, kind: str) -> Row:
        return attending(network, kind).weights

    def scatter(self, clients: Sequence[ClientId], encoder: str, now: Round) -> Scatter:
        return server.scatter(self._post, clients, encoder, now)

    def sketch(self, clients: Sequence[ClientId], how: Sketching, now: Round) -> Sketches:
        return server.sketch(self._post, clients, how, now)

    def moments(self, clients: Sequence[ClientId], encoder: str, fewest: int, noise: float, now: Round) -> Described:
        return server.moments(self._post, clients, encoder, fewest, noise, now)

    def changed(self, tokens: Mapping[ClientId, int], now: Round) -> Flags:
        return server.changed(self._post, tokens, now)

    def _carry(self, asks: Mapping[ClientId, Ask]) -> Iterable[Arrival]:
        return self._wire(self._workers.ask(asks.values()))
