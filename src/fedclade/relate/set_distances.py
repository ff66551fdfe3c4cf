"""Distances between clients that are sets of points, where every point counts: matched, and mean of nearest both ways.

`distances.smallest` takes one shared point for likeness. Here one shared point among five is a fifth.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, InputError
from fedclade.relate.distances import Matrix

AT_ONCE = 2**22  # distances between points that are in memory at once

Points = Mapping[ClientId, NDArray[np.float32]]
"""(points, features) of each client; the number of points may differ."""


def mean_of_nearest(points: Points) -> Matrix:
    """The mean distance from each point of one client to the nearest of the other, and back; the mean of both."""
    ids, whole, sizes = stacked(points)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    one_way = np.zeros((len(ids), len(ids)))
    step = max(1, AT_ONCE // max(1, len(whole) * int(sizes.max(initial=1))))
    for first in range(0, len(ids), step):
        some = slice(starts[first], starts[first] + sizes[first : first + step].sum())
        nearest = np.minimum.reduceat(between(whole[some], whole), starts, axis=1)  # (points of some, clients)
        sums = np.add.reduceat(nearest, starts[first : first + step] - starts[first], axis=0)
        one_way[first : first + step] = sums / sizes[first : first + step, None]
    values = (one_way + one_way.T) / 2
    np.fill_diagonal(values, 0)
    return Matrix(ids, values.astype(np.float32))


def matched(points: Points) -> Matrix:
    """The root of the mean squared distance of points that are paired one to one, in the best way there is.

    Of two clients the one with fewer points has all of them paired.
    """
    from scipy.optimize import linear_sum_assignment

    ids, whole, sizes = stacked(points)
    ends = np.cumsum(sizes)
    values = np.zeros((len(ids), len(ids)))
    for one in range(len(ids)):
        squares = between(whole[ends[one] - sizes[one] : ends[one]], whole) ** 2
        for other in range(one + 1, len(ids)):
            pairs = squares[:, ends[other] - sizes[other] : ends[other]]
            values[one, other] = values[other, one] = np.sqrt(pairs[linear_sum_assignment(pairs)].mean())
    return Matrix(ids, values.astype(np.float32))


def between(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances (some, others), by one product."""
    squares = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * some @ others.T
    roots: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0))
    return roots


def stacked(points: Points) -> tuple[tuple[ClientId, ...], NDArray[np.float64], NDArray[np.int64]]:
    """The ids, all points one client after the other around their middle, and how many each client has."""
    for client, own in points.items():
        if own.ndim != 2 or not len(own) or own.shape[1] != next(iter(points.values())).shape[1]:
            raise InputError(
                f'the points of client "{client}" have the wrong form',
                where="relate.set_distances",
                got=str(own.shape),
                need="(points, features), at least one point, as many features as others",
            )
    sizes = np.array([len(own) for own in points.values()], np.int64)
    if not len(sizes):
        return (), np.zeros((0, 0)), sizes
    whole = np.concatenate([np.asarray(own, np.float64) for own in points.values()])
    return tuple(points), whole - whole.mean(axis=0), sizes
