"""A fleet without data: each client pulls every model a share of the way to a point of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedclade.fleet.protocol import Described, Flags, Losses, Means, Scatter, Scores, Sketches, Sketching, Updates
from fedclade.nouns import Assignment, ClientId, Round, Row, Rows

STEP = 0.5  # of the way


@dataclass
class Pulling:
    """What a client minimises is half the squared distance to its point; all of it is known by hand."""

    points: dict[ClientId, NDArray[np.float32]]
    silent: set[ClientId] = field(default_factory=set)
    away: set[ClientId] = field(default_factory=set)
    held_out: dict[ClientId, NDArray[np.float32]] = field(default_factory=dict)
    """The points by which clients judge models; their own where none is given."""
    count: dict[ClientId, int] = field(default_factory=dict)
    """Examples; 1 where none is given."""

    def clients(self) -> tuple[ClientId, ...]:
        return tuple(sorted(set(self.points) - self.away))

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        return {client: self.count.get(client, 1) for client in clients}

    def layers(self) -> tuple[int, ...]:
        return (len(next(iter(self.points.values()))),)

    def train(self, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
        assert towards is None
        heard = tuple(client for client in starts.home if client not in self.silent)
        step = now.local.lr if now.local.batch == 10**9 else STEP
        rows = [
            starts.row_of(client) + np.float32(step) * (self.points[client] - starts.row_of(client)) for client in heard
        ]
        shape = (len(heard), starts.rows.shape[1])
        examples = np.array([self.count.get(client, 1) for client in heard], np.int64)
        return Updates(heard, np.array(rows, np.float32).reshape(shape), examples, np.zeros(len(heard)))

    def train_mean(self, starts: Assignment, now: Round, encoder: str = "") -> Means:
        assert not encoder
        updates = self.train(starts, now)
        rows = np.array(starts.rows)
        for number in set(starts.home.values()):
            mine = [place for place, client in enumerate(updates.clients) if starts.home[client] == number]
            if mine:
                rows[number] = np.average(updates.rows[mine], axis=0, weights=updates.examples[mine])
        return Means(rows, np.ones(len(rows), np.int64), updates.clients, 0.0)

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:  # noqa: ARG002  # a verb's form
        heard = tuple(client for client in clients if client not in self.silent)
        wanted = {**self.points, **self.held_out}
        table = [[float(((row - wanted[client]) ** 2).sum()) for row in rows] for client in heard]
        return Losses(heard, np.array(table).reshape(len(heard), len(rows)), np.ones(len(heard), np.int64))

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        raise NotImplementedError

    def weights(self, encoder: str) -> Row:
        raise NotImplementedError

    def attention(self, network: str, kind: str) -> Row:
        raise NotImplementedError

    def sketch(self, clients: Sequence[ClientId], how: Sketching, now: Round) -> Sketches:
        raise NotImplementedError

    def scatter(self, clients: Sequence[ClientId], encoder: str, now: Round) -> Scatter:
        raise NotImplementedError

    def moments(self, clients: Sequence[ClientId], encoder: str, fewest: int, noise: float, now: Round) -> Described:
        raise NotImplementedError

    def changed(self, tokens: Mapping[ClientId, int], now: Round) -> Flags:
        raise NotImplementedError


def grouped(
    seed: int, groups: int, each: int, *, spread: float = 0.05, size: int = 40
) -> tuple[Pulling, dict[ClientId, int]]:
    """Groups of clients around far points, and everybody's group; names tell nothing of it."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((groups, size))
    numbers = rng.permutation(np.repeat(np.arange(groups), each))
    home = {f"client-{place:02d}": int(number) for place, number in enumerate(numbers)}
    points = {
        client: (centres[number] + spread * rng.standard_normal(size)).astype(np.float32)
        for client, number in home.items()
    }
    return Pulling(points), home
