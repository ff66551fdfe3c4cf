"""Where a newcomer belongs, by its points as it sent them: with the group whose members are nearest.

UMAP's embedding has no place for somebody who was not there; the latent space has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, Points, generator
from fedclade.nouns.points import joined
from fedclade.relate.distances import nearest_between

KEPT = 20  # members of each group that newcomers are compared with
BEYOND = 1.5  # where there is no other group: so many times as far as its own farthest member


@dataclass(frozen=True, eq=False)
class PointAtlas:
    """Some members of each group, and how far each group reaches."""

    members: Points
    home: NDArray[np.int64]
    """(members,): the group of each."""
    reaches: NDArray[np.float64]
    """(groups,): the mean distance to its members up to which somebody belongs there."""

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(self.reaches)

    def nearest(self, newcomers: Points) -> dict[ClientId, int | None]:
        """The nearest group of each newcomer, as its number; None: unlike anybody."""
        if not newcomers.clients:
            return {}
        far = to_groups(newcomers, self.members, self.home, self.groups)
        near = far.argmin(axis=1)
        belongs = far[np.arange(len(near)), near] <= self.reaches[near]
        return {
            client: int(group) if fits else None
            for client, group, fits in zip(newcomers.clients, near, belongs, strict=True)
        }

    def joined(self, one: Points) -> "PointAtlas":
        """One group more, of this client alone; it reaches as far as the shortest of the others, or half of the way."""
        others = self.members.of(client for client in self.members.clients if client not in one.clients)
        home = dict(zip(self.members.clients, self.home.tolist(), strict=True))
        both = joined(others, one)
        numbers = [home[client] for client in others.clients] + [self.groups]
        half = float(to_groups(one, self.members, self.home, self.groups).min()) / 2
        reach = self.reaches[self.reaches > 0].min(initial=half)
        return PointAtlas(both, np.array(numbers, np.int64), np.append(self.reaches, reach))


def point_atlas(points: Points, groups: Sequence[Sequence[ClientId]]) -> PointAtlas:
    """The atlas of these groups, whose members' points are these.

    A group reaches to its farthest member, or half of the way from where its members are to the next group.
    """
    there = set(points.clients)
    kept: list[ClientId] = []
    home: list[int] = []
    for number, group in enumerate(groups):
        inside = sorted(set(group) & there)
        drawn = generator(number, "members kept").permutation(len(inside))[:KEPT]
        kept += [inside[place] for place in sorted(drawn)]
        home += [number] * len(drawn)
    members, homes = points.of(kept), np.array(home, np.int64)
    labels = {client: number for number, group in enumerate(groups) for client in group}
    own = np.array([labels[client] for client in points.clients])
    far = to_groups(points, members, homes, len(groups))
    inside = far[np.arange(len(own)), own]
    reaches = np.zeros(len(groups))
    for number in range(len(groups)):
        mine = inside[(own == number) & np.isfinite(inside)]
        middle, farthest = (float(mine.mean()), float(mine.max())) if len(mine) else (0.0, 0.0)
        others = far[own == number][:, np.arange(len(groups)) != number]
        others = others[np.isfinite(others)]
        reaches[number] = max((middle + float(others.min())) / 2, farthest) if len(others) else BEYOND * farthest
    return PointAtlas(members, homes, reaches)


def to_groups(points: Points, members: Points, home: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """(clients, groups): the mean distance to a group's members, oneself left out; infinite if there are none."""
    table = nearest_between(points, members).astype(np.float64)
    counted = np.not_equal.outer(np.array(points.clients), np.array(members.clients)).astype(np.float64)
    inside = np.eye(groups)[home]
    sums, pairs = (table * counted) @ inside, counted @ inside
    means: NDArray[np.float64] = np.divide(sums, pairs, out=np.full_like(sums, np.inf), where=pairs > 0)
    return means
