"""Sketches: a few points that stand for each client's data; and what a server knows of the encoder that makes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns.assignment import Row
from fedclade.nouns.clients import ClientId
from fedclade.nouns.errors import InputError


@dataclass(frozen=True, eq=False)
class Points:
    """The points of several clients. Who has fewer than others has its last one again, with a count of 0."""

    clients: tuple[ClientId, ...]
    places: NDArray[np.float32]
    """(clients, points, features)"""
    counts: NDArray[np.int64]
    """(clients, points): the examples that each stands for; 0: a filler, which is no point of its own."""

    def __post_init__(self) -> None:
        if (
            self.places.ndim != 3
            or not len(self.clients) == len(self.places)
            or self.counts.shape != self.places.shape[:2]
        ):
            raise InputError(
                "points do not fit together",
                got=f"{len(self.clients)} clients, {self.places.shape}, {self.counts.shape}",
                need="(clients, points, features), (clients, points)",
            )

    def of(self, clients: Iterable[ClientId]) -> "Points":
        """Those of these clients, in this order."""
        where = {client: number for number, client in enumerate(self.clients)}
        wanted = tuple(clients)
        chosen = [where[client] for client in wanted]
        return Points(wanted, self.places[chosen], self.counts[chosen])

    def moved(self, places: NDArray[np.float32]) -> "Points":
        """The same clients and counts at other places, which may have another number of features."""
        return Points(self.clients, places, self.counts)

    @property
    def weights(self) -> NDArray[np.float32]:
        """(clients, points): 1 over the client's number of points, 0 for a filler."""
        own = (self.counts > 0).astype(np.float32)
        shares: NDArray[np.float32] = own / np.maximum(own.sum(axis=1, keepdims=True), 1)
        return shares


def filled(points: Mapping[ClientId, NDArray[np.float32]], counts: Mapping[ClientId, NDArray[np.int64]]) -> Points:
    """Clients with different numbers of points side by side."""
    if not points:
        return Points((), np.zeros((0, 0, 0), np.float32), np.zeros((0, 0), np.int64))
    most = max(len(own) for own in points.values())
    places = [own[np.minimum(np.arange(most), len(own) - 1)] for own in points.values()]
    numbers = [np.append(counts[client], np.zeros(most - len(own), np.int64)) for client, own in points.items()]
    return Points(tuple(points), np.stack(places).astype(np.float32), np.stack(numbers).astype(np.int64))


def joined(one: Points, other: Points) -> Points:
    """The points of both, one after the other."""
    parts = [each for each in (one, other) if each.clients]
    points = {client: part.places[row] for part in parts for row, client in enumerate(part.clients)}
    counts = {client: part.counts[row] for part in parts for row, client in enumerate(part.clients)}
    return filled(points, counts)


@dataclass(frozen=True, eq=False)
class Encoding:
    """An encoder as the server holds it: what clients are told, and what they are sent."""

    kind: str
    """The name by which every client knows how to use the weights."""
    width: int
    """How many numbers an example becomes."""
    weights: Row
    """All of its weights; none for an encoder that every client has."""
    part: int
    """So many of them, from the first, encode; the others are for fine-tuning."""

    @property
    def can_be_tuned(self) -> bool:
        """Whether clients can train it further."""
        return self.part < len(self.weights)


def tunable(found: Encoding, name: str) -> Encoding:
    """An encoder that clients can train further, or an error."""
    if not found.can_be_tuned:
        raise InputError(
            f"encoder {name} cannot be fine-tuned",
            where="sketch",
            got=f"kind {found.kind}",
            need="an autoencoder, and images",
            do='leave it as it is: tuning = "none"',
        )
    return found
