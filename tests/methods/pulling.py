"""A fleet without data: each client pulls every model a share of the way to a point of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Encoding, Row
from fedclade.core.task import Task
from fedclade.fleet import Enrolment, Fleet, ModelShape
from fedclade.wire import Arrays, Reply
from fedclade.wire.message import AnyRequest

STEP = 0.5  # of the way


class NoFiles:
    """No encoder and no network."""

    def encoder(self, name: str) -> Encoding:
        raise AssertionError(name)

    def attention(self, name: str, kind: str) -> Row:
        raise AssertionError(name, kind)


@dataclass
class Pulling:
    """A transport. What a client minimises is half the squared distance to its point; all of it is known by hand."""

    points: dict[ClientId, NDArray[np.float32]]
    silent: set[ClientId] = field(default_factory=set)
    away: set[ClientId] = field(default_factory=set)
    held_out: dict[ClientId, NDArray[np.float32]] = field(default_factory=dict)
    """The points by which clients judge models; their own where none is given."""
    count: dict[ClientId, int] = field(default_factory=dict)
    """Examples; 1 where none is given."""
    cpu_seconds = 0.0

    def fleet(self) -> Fleet:
        size = len(next(iter(self.points.values())))
        return Fleet(self, ModelShape(size, (size,), Task(count=2)), NoFiles())

    def clients(self) -> tuple[ClientId, ...]:
        return tuple(sorted(set(self.points) - self.away))

    def begin(self, _: int) -> tuple[()]:
        return ()

    def close(self) -> None:
        """Nothing to let go of."""

    def enrolments(self) -> dict[ClientId, Enrolment]:
        return {client: Enrolment(self.count.get(client, 1), 1) for client in self.clients()}

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterator[Reply]:
        for client, request in requests.items():
            if client not in self.silent:
                examples = self.count.get(client, 1)
                yield Reply(request.verb.name, client, request.now.number, examples, self.answer(request))

    def answer(self, request: AnyRequest) -> Arrays:
        point, rows = self.points[request.client], request.rows
        if request.verb.name == "losses":
            point = self.held_out.get(request.client, point)
            return {"losses": np.array([float(((row - point) ** 2).sum()) for row in rows])}
        assert request.verb.name == "train"
        assert len(rows) == 1
        local = request.now.local
        step = local.lr if local.batch == 10**9 else STEP
        row = (rows[0] + np.float32(step) * (point - rows[0])).astype(np.float32)
        return {"row": row, "loss": np.array(0.0)}


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
