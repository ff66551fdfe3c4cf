"""Where to cut a tree of clients: a silhouette that knows how noisy distances are.

The tree is that of average linkage. For every number of groups K the silhouette compares each client's distance to its
own group with that to the nearest other one; both are roots of mean squared distances, and never below the noise
that is left in them, so differences that sampling alone explains count as none. A client alone in its group counts 0.

The separation of the best K is the smaller of its mean silhouette over clients and that over groups, for groups of two
or more. Callers take it for one group where the separation is too small.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Groups

NOISE = 0.25  # the share of the noise that may still be in a mean distance after it was subtracted
MAX_GROUPS = 50  # groups that are tried, at most


@dataclass(frozen=True, eq=False)
class PairDistances:
    """Squared distances between clients, and how noisy each client's part in them is."""

    kind: str
    clients: tuple[ClientId, ...]
    squared: NDArray[np.float32]
    """(clients, clients), unbiased; 0 on the diagonal."""
    noise: NDArray[np.float64]
    """(clients,): what a client's sampling adds to a squared distance, already subtracted."""
    comparable: NDArray[np.bool_] | None = None
    """(clients, clients): whether the two can be compared; None: all can."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The best cut of one tree, and how well it separates."""

    kind: str
    groups: Groups
    separation: float
    """From -1 to 1: how far groups are apart, against how wide they are."""
    silhouettes: dict[int, float]
    """The mean silhouette for each number of groups that was tried; empty if no two clients can be compared."""
    tree: NDArray[np.float64]
    """As scipy's linkage gives it; heights are squared distances minus the smallest one."""
    order: tuple[ClientId, ...]
    """The clients in the order of the tree's leaves."""


def best_cut(
    distances: PairDistances, max_groups: int = MAX_GROUPS, groups: int = 0, tree: NDArray[np.float64] | None = None
) -> Cut:
    """The cut with the best silhouette of 2 to `max_groups`, or into `groups`; of average linkage or another tree."""
    from scipy.cluster.hierarchy import leaves_list

    clients = distances.clients
    if len(clients) < (2 if groups else 3) or groups == 1:
        return Cut(distances.kind, Groups((clients,)), 0.0, {}, np.zeros((0, 4)), clients)
    tree = average_linkage(distances) if tree is None else tree
    cuts = nested_cuts(tree, groups)[-1:] if groups else nested_cuts(tree, min(max_groups, len(clients) - 1))
    table = GroupTable.of(distances, cuts[-1])
    scores: dict[int, float] = {}
    best, best_score = cuts[0], -2.0
    for labels in cuts:
        score = float(table.merge(labels).silhouettes(labels).mean())
        scores[int(labels.max()) + 1] = score
        if score > best_score + 1e-12:
            best, best_score = labels, score
    separation = separation_of(table.merge(best).silhouettes(best), best)
    if distances.comparable is not None and not upper_triangle(distances.comparable).any():
        separation, scores = -1.0, {}
    parted = Groups.from_labels(dict(zip(clients, best.tolist(), strict=True)))
    order = tuple(clients[leaf] for leaf in leaves_list(tree))
    return Cut(distances.kind, parted, separation, scores, tree, order)


def average_linkage(distances: PairDistances) -> NDArray[np.float64]:
    """scipy's tree; pairs that cannot be compared count as the median of those that can."""
    from scipy.cluster.hierarchy import linkage

    condensed = upper_triangle(distances.squared).astype(np.float64)
    if distances.comparable is not None:
        can = upper_triangle(distances.comparable)
        condensed[~can] = np.median(condensed[can]) if can.any() else 0.0
    condensed -= condensed.min()  # means shift with their values: the tree is the same, and no height is negative
    tree: NDArray[np.float64] = linkage(condensed, "average")
    return tree


def upper_triangle(table: NDArray[Any]) -> NDArray[Any]:
    """What stands above the diagonal, row by row: no index of the size of the table is made."""
    return np.concatenate([table[row, row + 1 :] for row in range(len(table) - 1)])


def nested_cuts(tree: NDArray[np.float64], max_groups: int) -> list[NDArray[np.int64]]:
    """The group of each leaf, from 0, for 2 to `max_groups` groups: by the order of merges, also where heights tie."""
    leaves = len(tree) + 1
    home = np.arange(leaves)
    cuts: list[NDArray[np.int64]] = []
    inside: dict[int, list[int]] = {leaf: [leaf] for leaf in range(leaves)}
    for step, (one, other) in enumerate(tree[:, :2].astype(int)):
        if leaves - step <= max_groups:
            cuts.append(np.unique(home, return_inverse=True)[1])
        inside[leaves + step] = inside.pop(one) + inside.pop(other)
        home[inside[leaves + step]] = leaves + step
    return cuts[::-1]


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Sums over the members of groups, for every client: merging two groups adds their columns."""

    squared: NDArray[np.float64]
    """(clients, groups): the sum of squared distances to the members that can be compared."""
    pairs: NDArray[np.float64]
    """(clients, groups): how many those are, the client itself left out."""
    noise: NDArray[np.float64]
    """(clients,)"""
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, distances: PairDistances, labels: NDArray[np.int64]) -> "GroupTable":
        """The sums for these groups."""
        member = np.eye(int(labels.max()) + 1, dtype=np.float32)[labels]
        squared = (distances.squared @ member).astype(np.float64)
        known = (
            np.ones_like(member) * member.sum(axis=0) if distances.comparable is None else distances.comparable @ member
        )
        return cls(squared, known.astype(np.float64) - member, distances.noise, labels)

    def merge(self, labels: NDArray[np.int64]) -> "GroupTable":
        """The sums for coarser groups."""
        into = np.zeros((self.squared.shape[1], int(labels.max()) + 1))
        into[self.labels, labels] = 1
        return GroupTable(self.squared @ into, self.pairs @ into, self.noise, labels)

    def silhouettes(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """(clients,): from -1 to 1; 0 for a client that is alone or cannot be compared.

        Of the two distances that are compared, both are at least the noisier one's noise.
        """
        rows = np.arange(len(labels))
        sizes = np.bincount(labels)
        of_group = np.bincount(labels, self.noise) / sizes
        mean = np.divide(self.squared, self.pairs, out=np.full_like(self.squared, np.nan), where=self.pairs > 0)
        floor = NOISE * (self.noise[:, None] + np.maximum(of_group[labels, None], of_group[None, :]))
        own = np.sqrt(np.maximum(mean[rows, labels][:, None], floor))
        other = np.sqrt(np.maximum(mean, floor))
        larger = np.maximum(own, other)
        each = np.divide(other - own, larger, out=np.zeros_like(own), where=larger > 0)
        each[rows, labels] = np.nan
        each[:, sizes == 1] = np.nan  # a client far from all others says nothing about groups
        known = ~np.isnan(each)
        worst = np.where(known, each, np.inf).min(axis=1)
        found: NDArray[np.float64] = np.where(known.any(axis=1) & (sizes[labels] > 1), worst, 0.0)
        return found


def separation_of(silhouettes: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The smaller of the mean over clients and the mean over groups, of groups of two or more."""
    sizes = np.bincount(labels)
    large = np.flatnonzero(sizes > 1)
    if not len(large):
        return 0.0
    inside = np.isin(labels, large)
    of_groups = [float(silhouettes[labels == group].mean()) for group in large]
    return min(float(silhouettes[inside].mean()), float(np.mean(of_groups)))
