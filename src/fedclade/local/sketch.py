"""A client's data in a few points: encode every example, then k-means."""

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Part
from fedclade.local.clusters import k_means
from fedclade.local.scatter import Place, as_it_is
from fedclade.nets.encoders import NO_WEIGHTS, encoder_named
from fedclade.nouns import ClientId, Round, Row


def sketch(
    part: Part,
    encoder: str,
    points: int,
    now: Round,
    client: ClientId,
    weights: Row = NO_WEIGHTS,
    place: Place = as_it_is,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The centres (points, features) of the client's encoded examples, and how many examples each one stands for.

    There are never more points than distinct examples.
    """
    encoded = place(encoder_named(encoder, weights).encode(part.inputs))
    wanted = min(points, len(np.unique(encoded, axis=0)))
    centres, labels = k_means(encoded, wanted, now.generator("sketch", client))
    counts = np.bincount(labels, minlength=wanted)
    # k-means numbers its clusters by chance; the largest first, then by their first example.
    order = [number for number in np.lexsort((first_of(labels, wanted), -counts)) if counts[number]]
    return centres[order], counts[order].astype(np.int64)


def first_of(labels: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first example of each cluster; behind all of them for an empty one."""
    return np.array([np.argmax(labels == number) if number in labels else len(labels) for number in range(count)])
