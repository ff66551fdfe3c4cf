"""k-means for sketches: a few points for many small sets, each in a fraction of a millisecond.

Lloyd's steps from k-means++ starts (Arthur and Vassilvitskii, 2007), several starts side by side as one product; the
best of them counts. Its answer is a function of the points and the generator alone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STARTS = 4  # the best of so many
STEPS = 100  # at the most


def k_means(
    points: NDArray[np.float32], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The centres (count, features) and the cluster of each point (points,). A cluster may end empty."""
    middle = points.mean(axis=0, dtype=np.float64)
    spread = (points - middle).astype(np.float32)  # around the middle, products lose no digits to an offset
    squares = np.einsum("ij,ij->i", spread, spread, dtype=np.float64)
    centres = np.stack([first_centres(spread, squares, count, rng) for _ in range(STARTS)])
    labels = nearest(spread, centres)
    for _ in range(STEPS):
        centres = means(spread, labels, centres)
        found = nearest(spread, centres)
        if np.array_equal(found, labels):
            break
        labels = found
    centres = means(spread, labels, centres)
    apart = [spread - mine[own] for mine, own in zip(centres, labels, strict=True)]
    inertia = [float(np.square(each).sum(dtype=np.float64)) for each in apart]
    best = int(np.argmin(inertia))
    return (centres[best] + middle).astype(np.float32), labels[best]


def first_centres(
    points: NDArray[np.float32], squares: NDArray[np.float64], count: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Greedy k-means++: each next centre is the best of a few that are drawn by their squared distance so far."""
    trials = 2 + int(np.log(count))
    chosen = [int(rng.integers(len(points)))]
    near = distances(points, squares, chosen)[:, 0]
    while len(chosen) < count:
        heights = np.cumsum(near)
        drawn = np.searchsorted(heights, rng.random(trials) * heights[-1], side="right")
        drawn = np.minimum(drawn, len(points) - 1)
        nearer = np.minimum(near[:, None], distances(points, squares, drawn))
        best = int(nearer.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        near = nearer[:, best]
    return points[chosen]


def distances(
    points: NDArray[np.float32], squares: NDArray[np.float64], some: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """Squared distances of all points to some of them, (points, some); 0 to itself."""
    apart = np.maximum(squares[:, None] - 2 * (points @ points[some].T).astype(np.float64) + squares[some], 0)
    apart[some, np.arange(len(some))] = 0
    return apart


def nearest(points: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.int64]:
    """The nearest centre of each point, for each start: (starts, points)."""
    starts, count, features = centres.shape
    half = np.einsum("skf,skf->sk", centres, centres) / 2  # |x - c|^2 / 2 = |x|^2 / 2 - x c + |c|^2 / 2
    likeness = (points @ centres.reshape(-1, features).T).reshape(len(points), starts, count) - half
    found: NDArray[np.int64] = likeness.argmax(axis=2).T
    return found


def means(points: NDArray[np.float32], labels: NDArray[np.int64], centres: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of each cluster, for each start; an empty one stays where it was."""
    starts, count, features = centres.shape
    flat = (labels + count * np.arange(starts)[:, None]).T.reshape(-1)  # by point, then by start
    members = np.zeros((len(points), starts * count), np.float32)
    members[np.repeat(np.arange(len(points)), starts), flat] = 1
    sizes = members.sum(axis=0)
    sums = members.T @ points
    made = sums / np.maximum(sizes, 1)[:, None]
    kept: NDArray[np.float32] = np.where(sizes[:, None] > 0, made, centres.reshape(-1, features))
    return kept.reshape(centres.shape)
