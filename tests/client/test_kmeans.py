"""k-means finds what scikit-learn's finds, and never another answer for the same draw."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from fedclade.client import one_thread
from fedclade.client.kmeans import k_means


def inertia(points: NDArray[np.float32], centres: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    return float(((points - centres[labels]).astype(np.float64) ** 2).sum())


@pytest.mark.parametrize(("count", "features", "k"), [(600, 64, 5), (40, 3, 4), (200, 784, 8), (7, 2, 7)])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_it_is_as_good_as_scikit_learns(count: int, features: int, k: int, offset: float) -> None:
    """Blobs, and a cloud without any: the sum of squares is at most a few hundredths above the better known one."""
    rng = np.random.default_rng(0)
    heaps = rng.normal(size=(k, features)) * 4
    blobs = heaps[rng.integers(k, size=count)] + rng.normal(size=(count, features)) + offset
    for points in (blobs.astype(np.float32), (rng.uniform(size=(count, features)) + offset).astype(np.float32)):
        with one_thread():
            centres, labels = k_means(points, k, np.random.default_rng(1))
            known = KMeans(k, n_init=4, random_state=0).fit(points)
        assert centres.shape == (k, features)
        assert labels.shape == (count,)
        assert inertia(points, centres, labels) <= 1.05 * known.inertia_ + 1e-3
        for number in set(labels.tolist()):
            np.testing.assert_allclose(centres[number], points[labels == number].mean(axis=0), rtol=1e-5, atol=1e-4)


def test_the_same_draw_gives_the_same_bits() -> None:
    points = np.random.default_rng(0).uniform(size=(100, 10)).astype(np.float32)
    with one_thread():
        one, again = (k_means(points, 6, np.random.default_rng(3)) for _ in range(2))
    assert one[0].tobytes() == again[0].tobytes()
    assert one[1].tobytes() == again[1].tobytes()
