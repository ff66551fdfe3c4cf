"""A federation in this machine: every client's part is played by a worker, from the examples it holds."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from fedclade.data import Federation
from fedclade.fleet.gate import Gate
from fedclade.fleet.protocol import Ask, Losses, Means, Reply, Scores, Sketches, Updates, Verb
from fedclade.fleet.workers import Workers
from fedclade.local import Client
from fedclade.nets import Net
from fedclade.nouns import Assignment, ClientId, InputError, Round, Rows

Wire = Callable[[Iterator[Reply]], Iterable[Reply]]
"""What becomes of the replies to one call on their way to the server."""


def undisturbed(replies: Iterator[Reply]) -> Iterable[Reply]:
    """A wire on which nothing happens."""
    return replies


class SimulatedFleet:
    """All clients of a federation; they never fail, unless the wire is told to lose, delay or change their replies."""

    def __init__(self, federation: Federation, net: Net, *, workers: int = 1, wire: Wire = undisturbed) -> None:
        if workers < 0:
            raise InputError("too few workers", where="engine.workers", got=str(workers), need="0 or more")
        client = Client(net)
        known = federation.without_truth()
        self._known = known
        self._parameters = net.size
        self._wire = wire
        self._enrolled: dict[ClientId, int] = {}
        self._tested: dict[ClientId, int] = {}
        self._turns = sorted({*known.joins.values(), *(change.round for change in known.changes)})
        self._stage = 0
        self._workers = Workers(
            lambda ask: client.answer(ask, known.held(ask.client, ask.now.number)), min(workers, len(known))
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

    def begin(self, number: int) -> None:
        """A round begins: who is there now, and with how many examples. Costs nothing where nothing has changed."""
        stage = bisect_right(self._turns, number)
        if self._enrolled and stage == self._stage:
            return
        self._stage = stage
        held = {client: self._known.held(client, number) for client in self._known.present(number)}
        self._enrolled = {client: len(data.train) for client, data in held.items()}
        self._tested = {client: len(data.test) for client, data in held.items()}

    def clients(self) -> tuple[ClientId, ...]:
        return tuple(self._enrolled)

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        return {client: self._enrolled[client] for client in clients}

    def train(self, starts: Assignment, now: Round) -> Updates:
        gate, replies = self._replies("train", self._models(starts), now)
        heard = list(replies)
        return Updates(
            clients=tuple(reply.client for reply in heard),
            rows=np.stack([np.asarray(reply.arrays["row"], np.float32) for reply in heard])
            if heard
            else np.zeros((0, self._parameters), np.float32),
            examples=np.array([reply.examples for reply in heard], np.int64),
            losses=np.array([reply.arrays["loss"] for reply in heard], np.float64),
            refused=gate.refused,
        )

    def train_mean(self, starts: Assignment, now: Round) -> Means:
        # One sum for each model, whatever the number of clients; in double precision and in the order of the request.
        sums = np.zeros(starts.rows.shape, np.float64)
        examples = np.zeros(len(starts.rows), np.int64)
        heard: list[ClientId] = []
        loss = 0.0
        gate, replies = self._replies("train", self._models(starts), now)
        for reply in replies:
            home = starts.home[reply.client]
            sums[home] += np.multiply(reply.arrays["row"], reply.examples, dtype=np.float64)
            examples[home] += reply.examples
            heard.append(reply.client)
            loss += float(reply.arrays["loss"]) * reply.examples
        answered = examples > 0
        rows = np.array(starts.rows)
        rows[answered] = sums[answered] / examples[answered, None]
        total = int(examples.sum())
        return Means(rows, examples, tuple(heard), loss / total if total else float("nan"), gate.refused)

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
        gate, replies = self._replies("losses", ((client, rows) for client in clients), now)
        heard = list(replies)
        return Losses(
            clients=tuple(reply.client for reply in heard),
            table=np.array([reply.arrays["losses"] for reply in heard], np.float64).reshape(len(heard), len(rows)),
            examples=np.array([reply.examples for reply in heard], np.int64),
            refused=gate.refused,
        )

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        gate, replies = self._replies("evaluate", self._models(models), now)
        heard = list(replies)
        return Scores(
            clients=tuple(reply.client for reply in heard),
            correct=np.array([reply.arrays["correct"] for reply in heard], np.int64),
            examples=np.array([reply.examples for reply in heard], np.int64),
            losses=np.array([reply.arrays["loss"] for reply in heard], np.float64),
            refused=gate.refused,
        )

    def sketch(self, clients: Sequence[ClientId], encoder: str, points: int, now: Round) -> Sketches:
        nothing = np.zeros((0, 0), np.float32)
        gate, replies = self._replies("sketch", ((client, nothing) for client in clients), now, encoder, points)
        heard = list(replies)
        return Sketches(
            points={reply.client: np.asarray(reply.arrays["points"], np.float32) for reply in heard},
            counts={reply.client: np.asarray(reply.arrays["counts"], np.int64) for reply in heard},
            refused=gate.refused,
        )

    def _models(self, models: Assignment) -> Iterator[tuple[ClientId, Rows]]:
        return ((client, models.rows[row : row + 1]) for client, row in models.home.items())

    def _replies(
        self, verb: Verb, models: Iterable[tuple[ClientId, Rows]], now: Round, encoder: str = "", points: int = 0
    ) -> tuple[Gate, Iterator[Reply]]:
        features = math.prod(self._known.shape)
        asks = {client: Ask(verb, client, now, rows, encoder, points, features) for client, rows in models}
        for client in asks:
            if client not in self._enrolled:
                raise InputError(f'there is no client "{client}"', where=f"fleet.{verb}", need="a client of the fleet")
        gate = Gate(asks, self._tested if verb == "evaluate" else self._enrolled)
        return gate, gate.admit(self._wire(self._workers.ask(asks.values())))
