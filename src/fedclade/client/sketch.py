"""A client's encoded examples in a few points, by k-means."""

import numpy as np
from numpy.typing import NDArray

from fedclade.client.kmeans import k_means


def sketch(
    encoded: NDArray[np.float32], points: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The centres (points, features) of encoded examples, and how many examples each one stands for.

    There are never more points than distinct examples.
    """
    wanted = min(points, len(np.unique(encoded, axis=0)))
    centres, labels = k_means(encoded, wanted, rng)
    counts = np.bincount(labels, minlength=wanted)
    # k-means numbers its clusters at random; the largest first, then by their first example.
    first = [np.argmax(labels == number) for number in range(wanted)]
    order = [number for number in np.lexsort((first, -counts)) if counts[number]]
    return centres[order], counts[order].astype(np.int64)
