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
        if not newcomers.clients:
            return {}
        squared, known, _ = between(self.kind, newcomers, self.pooled)
        squared = np.where(known, squared, np.inf)
        near = squared.argmin(axis=1)
        belongs = squared[np.arange(len(near)), near] <= self.reach[near]
        return {
            client: int(group) if fits else None
            for client, group, fits in zip(newcomers.clients, near, belongs, strict=True)
        }

    def joined(self, one: Moments) -> "Atlas":
        """One group more, of this client alone; it reaches as far as the shortest of the others."""
        last = Moments((str(len(self.reach)),), one.counts, one.means, one.variances)
        return Atlas(self.kind, stacked((self.pooled, last)), np.append(self.reach, self.reach.min()))


def atlas(kind: str, moments: Moments, groups: Sequence[Sequence[ClientId]]) -> Atlas:
    """The atlas of these groups, whose members' moments are these."""
    pooled = moments.pooled(groups, [str(number) for number in range(len(groups))])
    own = np.zeros(len(groups))
    noise = np.zeros(len(groups))
    to_groups, _, sampling = between(kind, moments, pooled)
    places = {client: number for number, client in enumerate(moments.clients)}
    for number, members in enumerate(groups):
        inside = [places[client] for client in members if client in places]
        own[number] = max(float(to_groups[inside, number].max(initial=0.0)), 0.0)
        noise[number] = NOISE * float(sampling[inside].max(initial=0.0))
    spread = np.maximum(own, noise)
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
