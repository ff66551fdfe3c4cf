"""Where a newcomer belongs: with the group whose examples, taken together, are nearest; or with nobody."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, Moments
from fedclade.nouns.moments import stacked
from fedclade.relate.cut import NOISE
from fedclade.relate.moments import PROFILES

HALF_WAY = 0.25  # of a squared distance: half of the way between the two groups that are nearest to each other
AT_ONCE = 2_000  # clients that are worked on at once
TWICE = 4.0  # of a squared distance: where there is no other group, twice as far as its own farthest member


@dataclass(frozen=True, eq=False)
class Atlas:
    """Groups as points to be near to: their pooled moments, and how far each of them reaches."""

    kind: str
    pooled: Moments
    """One line for each group."""
    reach: NDArray[np.float64]
    """(groups,): the squared distance up to which somebody belongs there."""

    def nearest(self, newcomers: Moments) -> dict[ClientId, int | None]:
        """The nearest group of each newcomer, as its number; None: unlike anybody."""
        places: dict[ClientId, int | None] = {}
        for some in newcomers.pieces(AT_ONCE):
            squared, known, _ = between(self.kind, some, self.pooled)
            squared = np.where(known, squared, np.inf)
            near = squared.argmin(axis=1)
            belongs = squared[np.arange(len(near)), near] <= self.reach[near]
            for client, group, fits in zip(some.clients, near, belongs, strict=True):
                places[client] = int(group) if fits else None
        return places

    def joined(self, one: Moments) -> "Atlas":
        """One group more, of this client alone; it reaches as far as the shortest of the others, or half of the way."""
        last = Moments((str(len(self.reach)),), one.counts, one.means, one.variances)
        squared, known, _ = between(self.kind, one, self.pooled)
        half = HALF_WAY * float(np.where(known & (squared > 0), squared, np.inf).min())
        reach = self.reach[self.reach > 0].min(initial=half)
        return Atlas(self.kind, stacked((self.pooled, last)), np.append(self.reach, reach))


def atlas(kind: str, moments: Moments, groups: Sequence[Sequence[ClientId]]) -> Atlas:
    """The atlas of these groups, whose members' moments are these."""
    pooled = moments.pooled(groups, [str(number) for number in range(len(groups))])
    home = {client: number for number, members in enumerate(groups) for client in members}
    spread = np.zeros(len(groups))  # how far its farthest member is, at least the noise in that
    for some in moments.pieces(AT_ONCE):
        to_groups, _, sampling = between(kind, some, pooled)
        for row, client in enumerate(some.clients):
            if (group := home.get(client)) is not None:
                spread[group] = max(spread[group], to_groups[row, group], NOISE * sampling[row])
    if len(groups) == 1:
        return Atlas(kind, pooled, TWICE * spread)
    among, known, _ = between(kind, pooled, pooled)
    squared = np.where(known & ~np.eye(len(groups), dtype=bool), among, np.inf)
    nearest = float(squared.min())
    return Atlas(kind, pooled, np.maximum(HALF_WAY * nearest, spread) if np.isfinite(nearest) else TWICE * spread)


def between(
    kind: str, some: Moments, others: Moments
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """(some, others): the squared distances, whether two can be compared, and the noise of some."""
    profile = PROFILES[kind](stacked((some, others)))
    count = len(some.clients)
    squared, known = profile.table(slice(0, count), slice(count, None))
    return squared.astype(np.float64), known, profile.noise[:count]
