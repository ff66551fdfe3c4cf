"""Distances between clients: between their updates, and between the points that stand for their data.

Matrices are made by products. Between sets of points only the smallest distance is kept, a few clients at a time, so
that nothing of the size clients x clients x points x points is ever in memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, InputError, Points, Rows

FEW = 8  # features up to which differences are taken one by one: a product would lose digits of small distances
ROOM = 2**18  # numbers that are worked on at once: 1 MB, which stays in a near cache
WIDE = 2**21  # the same for products of many features, which want many rows


@dataclass(frozen=True, eq=False)
class Matrix:
    """A number for each pair of clients, symmetric."""

    clients: tuple[ClientId, ...]
    """Whose rows and columns these are."""
    values: NDArray[np.float32]
    """(clients, clients)"""

    def of(self, one: ClientId, other: ClientId) -> float:
        """The number of two clients."""
        return float(self.values[self.clients.index(one), self.clients.index(other)])


def cosines(clients: Sequence[ClientId], rows: Rows) -> Matrix:
    """The cosine of the angle between any two rows, -1 to 1; a row of zeros has 0 with all others and 1 with itself."""
    ids = matched(clients, rows)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    scaled = rows / np.maximum(lengths, np.finfo(np.float32).tiny)[:, None].astype(np.float32)
    values = np.clip(scaled @ scaled.T, -1, 1)
    np.fill_diagonal(values, 1)
    return Matrix(ids, symmetric(values))


def euclidean(clients: Sequence[ClientId], rows: Rows) -> Matrix:
    """The distance between any two rows. The common part is taken off first, so that near rows stay apart."""
    ids = matched(clients, rows)
    apart = rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32) if len(rows) else rows
    squares = np.einsum("ij,ij->i", apart, apart, dtype=np.float64)
    values = np.sqrt(np.maximum(squares[:, None] + squares - 2 * (apart @ apart.T).astype(np.float64), 0))
    np.fill_diagonal(values, 0)
    return Matrix(ids, symmetric(values.astype(np.float32)))


def smallest(points: Mapping[ClientId, NDArray[np.float32]]) -> Matrix:
    """The smallest distance between a point of the one and a point of the other, for any two clients; 0 to oneself."""
    ids = tuple(points)
    if not ids:
        return Matrix((), np.zeros((0, 0), np.float32))
    layers = layered(points)
    squares = differences if layers.shape[2] <= FEW else by_product
    values = np.full((len(ids), len(ids)), np.inf, np.float32)
    step = max(1, ROOM // len(ids))
    for start in range(0, len(ids), step):
        piece = values[start : start + step, start:]  # what is left of it has been found from the other side
        for mine in layers[:, start : start + step]:
            for theirs in layers[:, start:]:
                np.minimum(piece, squares(mine, theirs), out=piece)
    np.fill_diagonal(values, 0)
    return Matrix(ids, symmetric(np.sqrt(values, out=values)))


def nearest(points: Points) -> NDArray[np.float32]:
    """(clients, clients): how far a point of the one is from the nearest of the other, in the mean, both ways.

    One point that two clients share, or a client that has points everywhere, brings nobody together.
    """
    one_way = towards(points, points)
    np.fill_diagonal(one_way, 0)
    return np.asarray((one_way + one_way.T) / 2, np.float32)


def nearest_between(some: Points, others: Points) -> NDArray[np.float32]:
    """(some, others): the same between clients and others."""
    return np.asarray((towards(some, others) + towards(others, some).T) / 2, np.float32)


def towards(some: Points, others: Points) -> NDArray[np.float32]:
    """(some, others): the mean over a client's points of the distance to the nearest point of the other."""
    found = np.zeros((len(some.clients), len(others.clients)), np.float32)
    if not found.size:
        return found
    middle = np.median(others.places, axis=(0, 1))  # a common offset costs digits; a liar moves no median
    mine, theirs = (np.ascontiguousarray((each.places - middle).transpose(1, 0, 2)) for each in (some, others))
    squares = differences if mine.shape[2] <= FEW else by_product
    step = max(1, (ROOM if squares is differences else WIDE) // len(others.clients))
    for start in range(0, len(found), step):
        for layer, weights in zip(mine, some.weights.T, strict=True):
            near = squares(layer[start : start + step], theirs[0])
            for other in theirs[1:]:
                np.minimum(near, squares(layer[start : start + step], other), out=near)
            found[start : start + step] += weights[start : start + step, None] * np.sqrt(near, out=near)
    return found


def least(points: Points) -> NDArray[np.float32]:
    """(clients, clients): the smallest distance between two of their points (the paper)."""
    return smallest(dict(zip(points.clients, points.places, strict=True))).values


def adjacency(
    points: Mapping[ClientId, NDArray[np.float32]], radius: float
) -> tuple[tuple[ClientId, ...], NDArray[np.bool_]]:
    """Who has a point within `radius` of a point of whom: the clients, and (clients, clients)."""
    found = smallest(points)
    near: NDArray[np.bool_] = found.values <= radius
    return found.clients, near


def differences(some: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared distances (some, others), feature by feature: exact for points that lie close together."""
    squares = np.zeros((len(some), len(others)), np.float32)
    for feature in range(some.shape[1]):
        apart = some[:, feature, None] - others[:, feature]
        squares += np.square(apart, out=apart)
    return squares


def by_product(some: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same by one product, for many features."""
    mine, theirs = (np.einsum("ij,ij->i", each, each) for each in (some, others))
    squares: NDArray[np.float32] = some @ others.T
    squares *= -2
    squares += mine[:, None]
    squares += theirs
    return np.maximum(squares, 0, out=squares)


def layered(points: Mapping[ClientId, NDArray[np.float32]]) -> NDArray[np.float32]:
    """Everybody's first points, everybody's second ones and so on, around their middle: (points, clients, features).

    Who has fewer is filled up with its last one, which changes no smallest distance.
    """
    for client, own in points.items():
        if own.ndim != 2 or not len(own):
            raise InputError(
                f'the points of client "{client}" have the wrong form',
                where="relate.smallest",
                got=str(own.shape),
                need="(points, features), at least one point",
            )
    if len(widths := {own.shape[1] for own in points.values()}) > 1:
        raise InputError(
            "points differ in length", where="relate.smallest", got=str(sorted(widths)), need="one number of features"
        )
    most = max(len(own) for own in points.values())
    filled = [np.asarray(own, np.float32)[np.minimum(np.arange(most), len(own) - 1)] for own in points.values()]
    layers = np.stack(filled, axis=1)
    middle: NDArray[np.float32] = np.median(layers, axis=(0, 1))  # as above
    return np.ascontiguousarray(layers - middle)


def symmetric(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The upper half from both sides: a product rounds the two halves differently."""
    for number, row in enumerate(values):
        values[number + 1 :, number] = row[number + 1 :]
    return values


def matched(clients: Sequence[ClientId], rows: Rows) -> tuple[ClientId, ...]:
    """The ids of the rows; an error unless there is one for each."""
    if rows.ndim != 2 or len(clients) != len(rows) or len(set(clients)) != len(clients):
        raise InputError(
            "clients and rows do not match",
            where="relate",
            got=f"{len(set(clients))} clients, {rows.shape}",
            need="(clients, parameters), one row for each",
        )
    return tuple(clients)
