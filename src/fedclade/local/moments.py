"""A client's data in class moments, noise to hide them behind, and a token by which it knows its data again."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Part
from fedclade.nets.encoders import encoder_named
from fedclade.nouns import ClientId, Round, generator
from fedclade.nouns.moments import label_moments

Told = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]
"""Of each label: count, mean, variance of the mean."""


def moments(part: Part, encoder: str, classes: int, fewest: int) -> Told:
    """Count, mean of the encoded examples and summed variance of that mean, for each label.

    A label with fewer than `fewest` examples is not told: it looks as if there were none.
    """
    encoded = encoder_named(encoder).encode(part.inputs).astype(np.float64)
    counts, means, variances = label_moments(encoded, part.labels, classes)
    rare = counts < fewest
    told = np.where(rare, 0, counts).astype(np.int64)
    means[rare], variances[rare] = 0, 0
    return told, means.astype(np.float32), variances.astype(np.float32)


def blurred(
    counts: NDArray[np.int64],
    means: NDArray[np.float32],
    variances: NDArray[np.float32],
    noise: float,
    secret: np.random.Generator,
) -> Told:
    """The same with so many standard errors of Gaussian noise on every mean, and with variances that say so.

    A standard error is that of the client's usual label, so a label whose examples are all equal is hidden too. Counts
    stay as they are.
    """
    if not noise:
        return counts, means, variances
    degrees = np.maximum(counts - 1, 0)
    spread = float(degrees @ (counts * variances.astype(np.float64))) / max(int(degrees.sum()), 1)
    added = np.divide(noise**2 * spread, counts, out=np.zeros(len(counts)), where=counts > 0)
    drawn = secret.normal(size=means.shape) * np.sqrt(added / means.shape[1])[:, None]
    return counts, (means + drawn).astype(np.float32), (variances + added).astype(np.float32)


def secret_of(part: Part, client: ClientId) -> np.random.Generator:
    """Randomness that follows from the examples, so that nobody who has not got them can draw it again.

    Not from the round or the seed either: who asks twice learns nothing more.
    """
    return generator("noise", client, digest_of("noise", part).hex())


def token_of(part: Part, now: Round, client: ClientId) -> int:
    """A number that changes with the examples, and tells nobody else which they are or who has the same."""
    return int.from_bytes(digest_of(f"{now.seed} {client}", part, 8), "big", signed=True)


def digest_of(purpose: str, part: Part, size: int = 32) -> bytes:
    """A digest of these examples for one purpose."""
    whole = hashlib.blake2b(purpose.encode(), digest_size=size)
    whole.update(part.labels.tobytes())
    whole.update(np.ascontiguousarray(part.inputs).tobytes())
    return whole.digest()
