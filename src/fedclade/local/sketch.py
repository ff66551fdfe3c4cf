"""A client's data in a few points: encode every example, then k-means."""

import warnings

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Part
from fedclade.nets.encoders import encoder_named
from fedclade.nouns import ClientId, Round


def sketch(
    part: Part, encoder: str, points: int, now: Round, client: ClientId
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The centres (points, features) of the client's encoded examples, and how many examples each one stands for.

    There are never more points than distinct examples.
    """
    from sklearn.cluster import KMeans  # 2 s: only when asked for
    from sklearn.exceptions import ConvergenceWarning

    encoded = encoder_named(encoder).encode(part.inputs)
    wanted = min(points, len(np.unique(encoded, axis=0)))
    seed = int(now.generator("sketch", client).integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # examples too close to be told apart: fewer points
        found = KMeans(wanted, n_init=4, random_state=seed).fit(encoded)
    counts = np.bincount(found.labels_, minlength=wanted)
    # k-means numbers its clusters by chance; the largest first, then by their first example.
    order = [number for number in np.lexsort((first_of(found.labels_, wanted), -counts)) if counts[number]]
    return found.cluster_centers_[order].astype(np.float32), counts[order].astype(np.int64)


def first_of(labels: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """The first example of each cluster; behind all of them for an empty one."""
    return np.array([np.argmax(labels == number) if number in labels else len(labels) for number in range(count)])
