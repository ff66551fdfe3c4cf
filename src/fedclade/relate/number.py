"""How many groups there are, from distances between clients alone: a silhouette with a gate, and what others say.

The silhouette decides. It is that of `relate.cut`; its noise is how far a client usually is from its nearest, so
clients that are near by chance are no group. Below the gate the answer is one group. Beside it stand three rules that
are often used, reported and not asked:

height ratio    where a merge of the tree is highest against the one before
gap             Tibshirani, Walther and Hastie (2001): how much tighter groups are than those of points without any
stability       how far the groups of four fifths of the clients agree with those of all (adjusted Rand index)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Groups, InputError
from fedclade.relate.agreement import adjusted_rand
from fedclade.relate.cut import MOST, NOISE, average_linkage, best_cut, nested_cuts
from fedclade.relate.distances import Matrix
from fedclade.relate.moments import Apart
from fedclade.relate.scaling import laid_out

GATE = 0.25  # what passes among many clients
CHANCE = 1.2  # over the number of clients: how much more it takes among few, who stand apart by chance
JUMP = 1.5  # a merge so many times as high as the one before is a jump
REFERENCES = 10  # worlds without groups that the gap is against
RESAMPLES, SHARE = 10, 0.8  # how often, and how many of the clients
DIMENSIONS = 10  # of the space that distances are laid out in
SOME = 1000  # clients that the other rules look at: their work grows with the third power
TRIED = 20  # groups that the rules beside the silhouette look at


@dataclass(frozen=True, eq=False)
class Number:
    """What was decided, and what the other rules would have said."""

    groups: Groups
    gate: float
    """How far the best cut's groups stand apart: -1 to 1."""
    passed: bool
    """Whether that was enough to say that there are groups."""
    silhouettes: dict[int, float]
    """For each number of groups."""
    height_ratio: int
    gap: int
    stability: float
    """Of the best cut, whether it passed or not: about 0 to 1."""

    @property
    def count(self) -> int:
        return len(self.groups)


def number_of_groups(distances: Matrix, chance: np.random.Generator, *, gate: float = GATE, most: int = MOST) -> Number:
    """The groups of these clients."""
    apart = apart_of(distances)
    cut = best_cut(apart, most)
    passed = cut.gate >= gate + CHANCE / max(len(distances.clients), 1)
    groups = cut.groups if passed else Groups((distances.clients,))
    if len(distances.clients) < 3:
        return Number(groups, cut.gate, False, cut.silhouettes, 1, 1, 1.0)
    some = some_of(distances, min(SOME, len(distances.clients)), chance)
    others = height_ratio(some), gap(some, chance), stability(some, cut.groups, chance)
    return Number(groups, cut.gate, passed, cut.silhouettes, *others)


def some_of(distances: Matrix, count: int, chance: np.random.Generator) -> Matrix:
    """So many of the clients, drawn at random, in their order; the same if that is all of them."""
    if count == len(distances.clients):
        return distances
    some = np.sort(chance.choice(len(distances.clients), count, replace=False))
    return Matrix(tuple(distances.clients[each] for each in some), distances.values[np.ix_(some, some)])


def given_number(distances: Matrix, count: int) -> Groups:
    """The groups of average linkage, so many of them."""
    if count <= 1 or len(distances.clients) <= count:
        alone = tuple((client,) for client in distances.clients)
        return Groups((distances.clients,)) if count <= 1 else Groups(alone)
    labels = nested_cuts(average_linkage(apart_of(distances)), count)[-1]
    return Groups.from_labels(dict(zip(distances.clients, labels.tolist(), strict=True)))


def apart_of(distances: Matrix) -> Apart:
    """The distances as a silhouette reads them; nothing below the usual distance to one's nearest tells anything."""
    if not np.isfinite(distances.values).all():
        raise InputError("distances are not numbers", where="relate.number", got="NaN or infinity", need="finite ones")
    squared = distances.values.astype(np.float32) ** 2
    others = np.where(np.eye(len(squared), dtype=bool), np.inf, squared)
    usual = float(np.median(others.min(axis=1))) if len(squared) > 1 else 0.0
    return Apart("distances", distances.clients, squared, np.full(len(squared), usual / (2 * NOISE)))


def height_ratio(distances: Matrix) -> int:
    """The number of groups before the merge that is highest against the one before; 1 if none is a jump."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(distances.values.astype(np.float64), checks=False), "average")
    heights = tree[::-1, 2]  # the last merge first: heights[k] joins k + 2 groups to k + 1
    tried = min(TRIED, len(heights)) - 1
    if tried < 1:
        return 1
    least = max(float(heights[0]) * np.finfo(float).eps, np.finfo(float).tiny)  # a group may have no width at all
    ratios = heights[:tried] / np.maximum(heights[1 : tried + 1], least)
    return int(ratios.argmax()) + 2 if ratios.max() >= JUMP else 1


def gap(distances: Matrix, chance: np.random.Generator) -> int:
    """The smallest number of groups whose gap is within an error of the next one's."""
    tried = min(TRIED, len(distances.clients) - 1)
    places = laid_out(distances.values.astype(np.float64) ** 2, DIMENSIONS)
    low, high = places.min(axis=0), places.max(axis=0)
    own = dispersions(distances.values.astype(np.float64) ** 2, tried)
    others = np.array([dispersions(squares(chance.uniform(low, high, places.shape)), tried) for _ in range(REFERENCES)])
    gaps = others.mean(axis=0) - own
    errors = others.std(axis=0) * np.sqrt(1 + 1 / REFERENCES)
    enough = gaps[:-1] >= gaps[1:] - errors[1:]
    return int(enough.argmax()) + 1 if enough.any() else tried


def stability(distances: Matrix, groups: Groups, chance: np.random.Generator) -> float:
    """The mean agreement of these groups with the same number of groups of four fifths of the clients."""
    labels, count = groups.labels, len(groups)
    size = max(count, int(SHARE * len(distances.clients)))
    found: list[float] = []
    for _ in range(RESAMPLES):
        part = some_of(distances, size, chance)
        found.append(adjusted_rand(given_number(part, count).labels, labels))
    return float(np.mean(found))


def squares(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances between places."""
    lengths = (places**2).sum(axis=1)
    found: NDArray[np.float64] = np.maximum(lengths[:, None] + lengths - 2 * places @ places.T, 0)
    np.fill_diagonal(found, 0)
    return found


def dispersions(squared: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """log W for 1 to so many groups of average linkage: squared distances inside groups, over twice their sizes."""
    names = tuple(str(number) for number in range(len(squared)))
    tree = average_linkage(Apart("squares", names, squared.astype(np.float32), np.zeros(len(squared))))
    found: list[float] = []
    for labels in [np.zeros(len(squared), np.int64), *nested_cuts(tree, most)]:
        member = np.eye(int(labels.max()) + 1)[labels]
        inside = np.einsum("ik,ij,jk->k", member, squared, member, optimize=True)
        found.append(float((inside / (2 * member.sum(axis=0))).sum()))
    return np.log(np.maximum(found, np.finfo(float).tiny))
