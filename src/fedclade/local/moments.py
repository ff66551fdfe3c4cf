"""A client's data in class moments, and a token by which it knows its data again."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Part
from fedclade.nets.encoders import encoder_named
from fedclade.nouns import ClientId, Round


def moments(
    part: Part, encoder: str, classes: int, fewest: int
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Count, mean of the encoded examples and summed variance of that mean, for each label.

    A label with fewer than `fewest` examples is not told: it looks as if there were none.
    """
    encoded, labels = encoder_named(encoder).encode(part.inputs).astype(np.float64), part.labels
    counts = np.bincount(labels, minlength=classes)
    means = np.zeros((classes, encoded.shape[1]))
    variances = np.zeros(classes)
    for label in np.flatnonzero(counts >= fewest):
        own = encoded[labels == label]
        means[label] = own.mean(axis=0)
        if len(own) > 1:
            variances[label] = own.var(axis=0, ddof=1).sum() / len(own)
    told = np.where(counts >= fewest, counts, 0).astype(np.int64)
    return told, means.astype(np.float32), variances.astype(np.float32)


def token_of(part: Part, now: Round, client: ClientId) -> int:
    """A number that changes with the examples, and tells nobody else which they are or who has the same."""
    whole = hashlib.blake2b(f"{now.seed} {client}".encode(), digest_size=8)
    whole.update(part.labels.tobytes())
    whole.update(np.ascontiguousarray(part.inputs).tobytes())
    return int.from_bytes(whole.digest(), "big", signed=True)
