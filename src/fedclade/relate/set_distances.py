"""Distances between clients that are sets of points, by their ids: see `distances` for what each of them is."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, InputError, Points
from fedclade.nouns.points import filled
from fedclade.relate.distances import Matrix, nearest
from fedclade.relate.matching import assigned

Sets = Mapping[ClientId, NDArray[np.float32]]
"""(points, features) of each client; the number of points may differ."""


def mean_of_nearest(points: Sets) -> Matrix:
    """`distances.nearest`: every point counts, so one that two clients share among five is a fifth."""
    told = side_by_side(points)
    return Matrix(told.clients, nearest(told))


def matched(points: Sets) -> Matrix:
    """`matching.assigned`: points paired one to one, in the best way there is."""
    told = side_by_side(points)
    return Matrix(told.clients, assigned(told))


def side_by_side(points: Sets) -> Points:
    """The same in one array; an error unless every client has a point, with as many features as others."""
    for client, own in points.items():
        if own.ndim != 2 or not len(own) or own.shape[1] != next(iter(points.values())).shape[1]:
            raise InputError(
                f'the points of client "{client}" have the wrong form',
                where="relate.set_distances",
                got=str(own.shape),
                need="(points, features), at least one point, as many features as others",
            )
    return filled(points, {client: np.ones(len(own), np.int64) for client, own in points.items()})
