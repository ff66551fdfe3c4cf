"""Distances between clients whose points are matched one to one, as FLT's published code measures them."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Points
from fedclade.relate.distances import FEW, by_product, differences

FULL = 6  # points up to which all ways to match them are weighed at once, for many pairs of clients
ROOM = 2**16  # pairs of clients that are worked on at once

Floats = NDArray[np.float32]


def assigned(points: Points) -> NDArray[np.float32]:
    """(clients, clients): points matched one to one so that the sum of squares is least; its root over their number.

    Of two clients the one with fewer points says how many are matched. Clients with equally many go together.
    """
    count = len(points.clients)
    found = np.zeros((count, count), np.float32)
    if not count:
        return found
    middle = np.median(points.places, axis=(0, 1))  # a common offset costs digits; a liar moves no median
    layers = np.ascontiguousarray((points.places - middle).transpose(1, 0, 2))
    sizes = (points.counts > 0).sum(axis=1)
    for few in np.unique(sizes):
        mine = np.flatnonzero(sizes == few)
        for many in np.unique(sizes[sizes >= few]):
            theirs = np.flatnonzero(sizes == many)
            table = least_sums(layers[:few, mine], layers[:many, theirs], same=bool(few == many))
            found[np.ix_(mine, theirs)] = np.sqrt(table) / few
            found[np.ix_(theirs, mine)] = found[np.ix_(mine, theirs)].T
    np.fill_diagonal(found, 0)
    return found


def least_sums(few: Floats, many: Floats, *, same: bool) -> Floats:
    """(clients, others): the least sum of squares, from (points, clients, features); `same`: all to all."""
    squares = differences if few.shape[2] <= FEW else by_product
    found = np.zeros((few.shape[1], many.shape[1]), np.float32)
    if len(many) > FULL:  # by the Hungarian method, pair by pair
        for one, other in np.ndindex(found.shape):
            if one < other or not same:
                found[one, other] = assignment(squares(few[:, one], many[:, other]))
        return np.maximum(found, found.T) if same else found
    step = max(1, ROOM // many.shape[1])
    for start in range(0, len(found), step):
        rows, beyond = slice(start, start + step), slice(start if same else 0, None)
        found[rows, beyond] = weighed([[squares(one[rows], other[beyond]) for other in many] for one in few])
        if same:  # what is left of it has been found from the other side
            found[beyond, rows] = found[rows, beyond].T
    return found


def weighed(costs: list[list[Floats]]) -> Floats:
    """The least sum for each pair of clients, of the costs of matching each point of the one with each of the other.

    Point after point, for every set of points of the other that those so far may be matched with.
    """
    others = range(len(costs[0]))
    best: dict[frozenset[int], Floats] = {frozenset(): np.zeros_like(costs[0][0])}
    for number, row in enumerate(costs):
        wider: dict[frozenset[int], Floats] = {}
        for taken in map(frozenset, combinations(others, number + 1)):
            ways = (best[taken - {last}] + row[last] for last in sorted(taken))
            least = next(ways)
            for way in ways:
                np.minimum(least, way, out=least)
            wider[taken] = least
        best = wider
    return np.asarray(np.minimum.reduce(list(best.values())), np.float32)


def assignment(costs: Floats) -> float:
    """The same for one pair of clients, from (points, points)."""
    from scipy.optimize import linear_sum_assignment

    return float(costs[linear_sum_assignment(costs)].sum(dtype=np.float64))
