"""How many groups there are, from distances between clients alone: a silhouette with a threshold, and other rules.

The silhouette decides. It is that of `clustering.cuts`; its noise is the usual distance of a client to its nearest, so
clients that are near by chance are no group. Below the threshold the answer is one group. Three rules that are often
used are reported beside it, and decide nothing:

height ratio    where a merge of the tree is highest against the one before
gap             Tibshirani, Walther and Hastie (2001): how much tighter groups are than those of points without any
stability       how far the groups of four fifths of the clients agree with those of all (adjusted Rand index)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.cuts import NOISE, PairDistances, average_linkage, best_cut, nested_cuts
from fedclade.clustering.distances import Matrix
from fedclade.clustering.scaling import classical_mds
from fedclade.core import ClientId, Groups, InputError

MIN_SEPARATION = 0.25  # the threshold among many clients
FEW_CLIENTS_MARGIN = 1.2  # this over the number of clients is added to it: a few clients stand apart by chance
MIN_JUMP = 1.5  # a merge this many times as high as the one before is a jump
REFERENCES = 10  # sets of points without groups that the gap compares with
RESAMPLES, RESAMPLE_SHARE = 10, 0.8  # how often, and with what share of the clients
DIMENSIONS = 10  # of the space that clients are placed in by their distances
MAX_SAMPLED_CLIENTS = 1000  # clients that the other rules read: their work grows with the third power
MAX_TRIED_GROUPS = 20  # groups that the other rules try


@dataclass(frozen=True, eq=False)
class GroupNumber:
    """The groups, and what the other rules say."""

    groups: Groups
    separation: float
    """How far the best cut's groups stand apart: -1 to 1."""
    height_ratio: int
    gap: int
    stability: float
    """Of the best cut, also where the answer is one group: about 0 to 1."""


def number_of_groups(
    distances: Matrix, rng: np.random.Generator, *, min_separation: float = MIN_SEPARATION
) -> GroupNumber:
    """The groups of these clients."""
    count = len(distances.clients)
    cut = best_cut(pair_distances(distances))
    is_separated = cut.separation >= min_separation + FEW_CLIENTS_MARGIN / max(count, 1)
    groups = cut.groups if is_separated else Groups((distances.clients,))
    if count < 3:
        return GroupNumber(groups, cut.separation, 1, 1, 1.0)
    some = sample_clients(distances, min(MAX_SAMPLED_CLIENTS, count), rng)
    return GroupNumber(groups, cut.separation, height_ratio(some), gap(some, rng), stability(some, cut.groups, rng))


def sample_clients(distances: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """The distances between `count` of the clients, drawn at random, in their order."""
    if count == len(distances.clients):
        return distances
    some = np.sort(rng.choice(len(distances.clients), count, replace=False))
    return Matrix(tuple(distances.clients[each] for each in some), distances.values[np.ix_(some, some)])


def cut_into_groups(distances: Matrix, count: int) -> Groups:
    """The groups of average linkage, `count` of them, or as many as there are clients."""
    if count <= 1 or len(distances.clients) <= count:
        alone = tuple((client,) for client in distances.clients)
        return Groups((distances.clients,)) if count <= 1 else Groups(alone)
    labels = nested_cuts(average_linkage(pair_distances(distances)), count)[-1]
    return Groups.from_labels(dict(zip(distances.clients, labels.tolist(), strict=True)))


def pair_distances(distances: Matrix) -> PairDistances:
    """The distances as a silhouette reads them: anything below a client's usual distance to its nearest is noise."""
    if not np.isfinite(distances.values).all():
        raise InputError(
            "distances are not numbers", where="clustering.group_number", got="NaN or infinity", need="finite ones"
        )
    squared = distances.values.astype(np.float32) ** 2
    others = np.where(np.eye(len(squared), dtype=bool), np.inf, squared)
    usual = float(np.median(others.min(axis=1))) if len(squared) > 1 else 0.0
    return PairDistances("distances", distances.clients, squared, np.full(len(squared), usual / (2 * NOISE)))


def height_ratio(distances: Matrix) -> int:
    """The number of groups before the merge that is highest against the one before; 1 if none is a jump."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(distances.values.astype(np.float64), checks=False), "average")
    heights = tree[::-1, 2]  # the last merge first: heights[k] joins k + 2 groups to k + 1
    tried = min(MAX_TRIED_GROUPS, len(heights)) - 1
    if tried < 1:
        return 1
    least = max(float(heights[0]) * np.finfo(float).eps, np.finfo(float).tiny)  # a group may have no width at all
    ratios = heights[:tried] / np.maximum(heights[1 : tried + 1], least)
    return int(ratios.argmax()) + 2 if ratios.max() >= MIN_JUMP else 1


def gap(distances: Matrix, rng: np.random.Generator) -> int:
    """The smallest number of groups whose gap is within an error of the next one's."""
    tried = min(MAX_TRIED_GROUPS, len(distances.clients) - 1)
    places = classical_mds(distances.values.astype(np.float64) ** 2, DIMENSIONS)
    low, high = places.min(axis=0), places.max(axis=0)
    own = dispersions(distances.values.astype(np.float64) ** 2, tried)
    others = np.array(
        [dispersions(squared_distances(rng.uniform(low, high, places.shape)), tried) for _ in range(REFERENCES)]
    )
    gaps = others.mean(axis=0) - own
    errors = others.std(axis=0) * np.sqrt(1 + 1 / REFERENCES)
    enough = gaps[:-1] >= gaps[1:] - errors[1:]
    return int(enough.argmax()) + 1 if enough.any() else tried


def stability(distances: Matrix, groups: Groups, rng: np.random.Generator) -> float:
    """The mean agreement of these groups with the same number of groups of four fifths of the clients."""
    size = max(len(groups), int(RESAMPLE_SHARE * len(distances.clients)))
    parts = (sample_clients(distances, size, rng) for _ in range(RESAMPLES))
    return float(np.mean([adjusted_rand(cut_into_groups(part, len(groups)).labels, groups.labels) for part in parts]))


def adjusted_rand(one: Mapping[ClientId, int], other: Mapping[ClientId, int]) -> float:
    """scikit-learn's adjusted Rand index over the clients that both have: 1 for the same groups, about 0 for chance."""
    from sklearn.metrics import adjusted_rand_score

    both = sorted(set(one) & set(other))
    return float(adjusted_rand_score([one[client] for client in both], [other[client] for client in both]))


def squared_distances(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances between places."""
    lengths = (places**2).sum(axis=1)
    found: NDArray[np.float64] = np.maximum(lengths[:, None] + lengths - 2 * places @ places.T, 0)
    np.fill_diagonal(found, 0)
    return found


def dispersions(squared: NDArray[np.float64], max_groups: int) -> NDArray[np.float64]:
    """log W for 1 to `max_groups` groups of average linkage: squared distances inside groups over twice their sizes."""
    names = tuple(str(number) for number in range(len(squared)))
    tree = average_linkage(PairDistances("squares", names, squared.astype(np.float32), np.zeros(len(squared))))
    found: list[float] = []
    for labels in [np.zeros(len(squared), np.int64), *nested_cuts(tree, max_groups)]:
        member = np.eye(int(labels.max()) + 1)[labels]
        inside = np.einsum("ik,ij,jk->k", member, squared, member, optimize=True)
        found.append(float((inside / (2 * member.sum(axis=0))).sum()))
    return np.log(np.maximum(found, np.finfo(float).tiny))
