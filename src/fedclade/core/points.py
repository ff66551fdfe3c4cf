"""Sketches: a few points that stand for each client's data; and the encoder that makes them, as a server knows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core.assignment import Row
from fedclade.core.errors import InputError
from fedclade.core.ids import ClientId


@dataclass(frozen=True, eq=False)
class Points:
    """The points of several clients. A client that has fewer than others has its last one again, with a count of 0."""

    clients: tuple[ClientId, ...]
    places: NDArray[np.float32]
    """(clients, points, features)"""
    counts: NDArray[np.int64]
    """(clients, points): the examples that each stands for; 0: a filler, which is no point of its own."""

    def __post_init__(self) -> None:
        clients, shape = len(self.clients), self.places.shape
        if len(shape) != 3 or clients != len(self.places) or self.counts.shape != shape[:2]:
            got, need = (
                f"{clients} clients, {shape}, {self.counts.shape}",
                "(clients, points, features), (clients, points)",
            )
            raise InputError("points do not fit together", got=got, need=need)

    def of(self, clients: Iterable[ClientId]) -> "Points":
        """Those of these clients, in this order."""
        where = {client: number for number, client in enumerate(self.clients)}
        wanted = tuple(clients)
        chosen = [where[client] for client in wanted]
        return Points(wanted, self.places[chosen], self.counts[chosen])

    def with_places(self, places: NDArray[np.float32]) -> "Points":
        """The same clients and counts at other places, which may have another number of features."""
        return Points(self.clients, places, self.counts)

    @property
    def weights(self) -> NDArray[np.float32]:
        """(clients, points): 1 over the client's number of points, 0 for a filler."""
        own = (self.counts > 0).astype(np.float32)
        shares: NDArray[np.float32] = own / np.maximum(own.sum(axis=1, keepdims=True), 1)
        return shares


def pad_points(points: Mapping[ClientId, NDArray[np.float32]], counts: Mapping[ClientId, NDArray[np.int64]]) -> Points:
    """Clients with different numbers of points side by side."""
    if not points:
        return Points((), np.zeros((0, 0, 0), np.float32), np.zeros((0, 0), np.int64))
    most = max(len(own) for own in points.values())
    places = [own[np.minimum(np.arange(most), len(own) - 1)] for own in points.values()]
    numbers = [np.append(counts[client], np.zeros(most - len(own), np.int64)) for client, own in points.items()]
    return Points(tuple(points), np.stack(places).astype(np.float32), np.stack(numbers).astype(np.int64))


def concatenate_points(one: Points, other: Points) -> Points:
    parts = [each for each in (one, other) if each.clients]
    points = {client: part.places[row] for part in parts for row, client in enumerate(part.clients)}
    counts = {client: part.counts[row] for part in parts for row, client in enumerate(part.clients)}
    return pad_points(points, counts)


@dataclass(frozen=True, eq=False)
class Encoding:
    """An encoder as the server holds it."""

    kind: str
    """The name by which every client knows how to use the weights."""
    width: int
    """How many numbers an example becomes."""
    weights: Row
    """All of its weights; none for an encoder that every client has."""
    encoder_size: int
    """So many of them encode; the others are for fine-tuning."""
    encoder_start: int = 0
    """The place of the first of those that encode; they stand together."""

    @property
    def encoder_weights(self) -> slice:
        """Where those that encode stand."""
        return slice(self.encoder_start, self.encoder_start + self.encoder_size)


def require_tunable(found: Encoding, name: str) -> Encoding:
    """An encoder that clients can train further, or an error."""
    if found.encoder_size >= len(found.weights):
        got, need, do = (
            f"kind {found.kind}",
            "an autoencoder, and images",
            "leave it as it is: no tuning epochs or rounds",
        )
        raise InputError(f"encoder {name} cannot be fine-tuned", where="sketch", got=got, need=need, do=do)
    return found
