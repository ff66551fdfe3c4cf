"""Distances between clients that are sets of points: by nearest points, by the nearest pair, by matched points.

Nothing of the size clients x clients x points x points is ever in memory: one point of each client is compared with one
of each other, a block of clients at a time.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.distances import Matrix, mirror_upper_half
from fedclade.core import ClientId, InputError, Points
from fedclade.core.points import pad_points

MAX_EXACT_FEATURES = 8  # up to these differences are taken one by one: a product would lose digits of small distances
BLOCK_NUMBERS = 2**18  # numbers in a block: 1 MB, which stays in a near cache
WIDE_BLOCK_NUMBERS = 2**21  # the same for products of many features, which want many rows
BLOCK_PAIRS = 2**16  # pairs of clients whose points are matched at once
MAX_ENUMERATED_POINTS = 6  # points up to which all ways to match them are weighed at once, for many pairs of clients

PointDistance = Literal["nearest", "matched", "smallest"]
PointSets = Mapping[ClientId, NDArray[np.float32]]
"""(points, features) of each client; the number of points may differ."""
Array = NDArray[np.float32]


def set_distances(kind: PointDistance, points: PointSets) -> Matrix:
    """The distance of this kind between any two clients; an error unless each has a point, of as many features."""
    for client, own in points.items():
        if own.ndim != 2 or not len(own) or own.shape[1] != next(iter(points.values())).shape[1]:
            raise InputError(
                f'the points of client "{client}" have the wrong form',
                where="clustering.point_distances",
                got=str(own.shape),
                need="(points, features), at least one point, as many features as others",
            )
    padded = pad_points(points, {client: np.ones(len(own), np.int64) for client, own in points.items()})
    return Matrix(padded.clients, POINT_DISTANCES[kind](padded))


def nearest_distances(points: Points) -> Array:
    """(clients, clients): the mean distance from a point of the one to the nearest of the other, both ways.

    Neither one point that two clients share nor a client with points everywhere brings clients together.
    """
    one_way = one_way_distances(points, points)
    np.fill_diagonal(one_way, 0)
    return np.asarray((one_way + one_way.T) / 2, np.float32)


def nearest_distances_between(some: Points, others: Points) -> Array:
    """(some, others): `nearest_distances` between the clients of two sets."""
    return np.asarray((one_way_distances(some, others) + one_way_distances(others, some).T) / 2, np.float32)


def one_way_distances(some: Points, others: Points) -> Array:
    """(some, others): the mean over a client's points of the distance to the nearest point of the other."""
    found = np.zeros((len(some.clients), len(others.clients)), np.float32)
    if not found.size:
        return found
    mine, theirs = (layers_around(each.places, others.places) for each in (some, others))
    block = BLOCK_NUMBERS if mine.shape[2] <= MAX_EXACT_FEATURES else WIDE_BLOCK_NUMBERS
    step = max(1, block // len(others.clients))
    for start in range(0, len(found), step):
        rows = slice(start, start + step)
        for layer, weights in zip(mine, some.weights.T, strict=True):
            near = squared_distances(layer[rows], theirs[0])
            for other in theirs[1:]:
                np.minimum(near, squared_distances(layer[rows], other), out=near)
            found[rows] += weights[rows, None] * np.sqrt(near, out=near)
    return found


def smallest_distances(points: Points) -> Array:
    """(clients, clients): the smallest distance between a point of the one and a point of the other (FLT's paper)."""
    count = len(points.clients)
    found = np.full((count, count), np.inf, np.float32)
    if not count:
        return found
    layers = layers_around(points.places, points.places)
    step = max(1, BLOCK_NUMBERS // count)
    for start in range(0, count, step):
        block = found[start : start + step, start:]  # columns to the left are filled from the upper half
        for mine in layers[:, start : start + step]:
            for theirs in layers[:, start:]:
                np.minimum(block, squared_distances(mine, theirs), out=block)
    np.fill_diagonal(found, 0)
    return mirror_upper_half(np.sqrt(found, out=found))


def matched_distances(points: Points) -> Array:
    """(clients, clients): points matched one to one so that the sum of squares is least; its root over their number.

    This is what FLT's published code measures. The client with fewer points decides how many are matched.
    """
    count = len(points.clients)
    found = np.zeros((count, count), np.float32)
    if not count:
        return found
    layers = layers_around(points.places, points.places)
    sizes = (points.counts > 0).sum(axis=1)
    for few in np.unique(sizes):  # clients with equally many points together
        mine = np.flatnonzero(sizes == few)
        for many in np.unique(sizes[sizes >= few]):
            theirs = np.flatnonzero(sizes == many)
            table = least_sums(layers[:few, mine], layers[:many, theirs], same=bool(few == many))
            found[np.ix_(mine, theirs)] = np.sqrt(table) / few
            found[np.ix_(theirs, mine)] = found[np.ix_(mine, theirs)].T
    np.fill_diagonal(found, 0)
    return found


POINT_DISTANCES: dict[PointDistance, Callable[[Points], Array]] = {
    "nearest": nearest_distances,
    "matched": matched_distances,
    "smallest": smallest_distances,
}


def least_sums(few: Array, many: Array, *, same: bool) -> Array:
    """(clients, others): the least sum of squares, from (points, clients, features); `same`: both are the same."""
    found = np.zeros((few.shape[1], many.shape[1]), np.float32)
    if len(many) > MAX_ENUMERATED_POINTS:  # by the Hungarian method, pair by pair
        for one, other in np.ndindex(found.shape):
            if one < other or not same:
                found[one, other] = hungarian_cost(squared_distances(few[:, one], many[:, other]))
        return np.maximum(found, found.T) if same else found
    step = max(1, BLOCK_PAIRS // many.shape[1])
    for start in range(0, len(found), step):
        rows, columns = slice(start, start + step), slice(start if same else 0, None)
        costs = [[squared_distances(one[rows], other[columns]) for other in many] for one in few]
        found[rows, columns] = least_matching_costs(costs)
        if same:
            found[columns, rows] = found[rows, columns].T
    return found


def least_matching_costs(costs: list[list[Array]]) -> Array:
    """The least sum for each pair of clients, of the costs of matching each point of the one with each of the other.

    Point after point, for every set of points of the other that those so far may be matched with.
    """
    others = range(len(costs[0]))
    best: dict[frozenset[int], Array] = {frozenset(): np.zeros_like(costs[0][0])}
    for number, row in enumerate(costs):
        wider: dict[frozenset[int], Array] = {}
        for taken in map(frozenset, combinations(others, number + 1)):
            ways = (best[taken - {last}] + row[last] for last in sorted(taken))
            least = next(ways)
            for way in ways:
                np.minimum(least, way, out=least)
            wider[taken] = least
        best = wider
    return np.asarray(np.minimum.reduce(list(best.values())), np.float32)


def hungarian_cost(costs: Array) -> float:
    """The least sum for one pair of clients, from the costs (points, points)."""
    from scipy.optimize import linear_sum_assignment

    return float(costs[linear_sum_assignment(costs)].sum(dtype=np.float64))


def layers_around(places: Array, reference: Array) -> Array:
    """First points, second points and so on, (points, clients, features), around the median of the reference.

    A common offset would cost digits, and a client that lies cannot move a median.
    """
    return np.ascontiguousarray((places - np.median(reference, axis=(0, 1))).transpose(1, 0, 2))


def squared_distances(some: Array, others: Array) -> Array:
    """(some, others): squared distances between points; exact for near points of few features."""
    if some.shape[1] <= MAX_EXACT_FEATURES:
        squares = np.zeros((len(some), len(others)), np.float32)
        for feature in range(some.shape[1]):
            apart = some[:, feature, None] - others[:, feature]
            squares += np.square(apart, out=apart)
        return squares
    mine, theirs = (np.einsum("ij,ij->i", each, each) for each in (some, others))
    products: Array = some @ others.T
    products *= -2
    products += mine[:, None]
    products += theirs
    return np.maximum(products, 0, out=products)
