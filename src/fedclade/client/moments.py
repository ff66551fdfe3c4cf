"""A client's data in class moments, noise to hide them, and a token by which the client recognises its data."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Round, generator
from fedclade.core.moments import label_moments
from fedclade.data import Part
from fedclade.nets.encoders import encoder_named

LabelMoments = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]
"""Of each label: count, mean, variance of the mean."""


def moments(
    part: Part,
    encoder: str,
    kinds: NDArray[np.bool_],
    min_examples: int,
    numbers: NDArray[np.float64] | None = None,
) -> LabelMoments:
    """Count, mean of the encoded examples and summed variance of that mean, for each kind of label.

    `kinds` says which examples have which: (examples, kinds). With `numbers` of the examples, all of them come last,
    each times its number. A label with fewer than `min_examples` looks as if it had
    none.
    """
    encoded = encoder_named(encoder).encode(part.inputs).astype(np.float64)
    counts, means, variances = label_moments(encoded, kinds, numbers)
    rare = counts < min_examples
    kept_counts = np.where(rare, 0, counts).astype(np.int64)
    means[rare], variances[rare] = 0, 0
    return kept_counts, means.astype(np.float32), variances.astype(np.float32)


def add_noise(exact: LabelMoments, noise: float, rng: np.random.Generator) -> LabelMoments:
    """The same with so many standard errors of Gaussian noise on every mean, and with variances that say so.

    A standard error is that of the client's usual label, so a label whose examples are all equal is hidden too. Counts
    stay as they are.
    """
    if not noise:
        return exact
    counts, means, variances = exact
    degrees = np.maximum(counts - 1, 0)
    spread = float(degrees @ (counts * variances.astype(np.float64))) / max(int(degrees.sum()), 1)
    added = np.divide(noise**2 * spread, counts, out=np.zeros(len(counts)), where=counts > 0)
    drawn = rng.normal(size=means.shape) * np.sqrt(added / means.shape[1])[:, None]
    return counts, (means + drawn).astype(np.float32), (variances + added).astype(np.float32)


def noise_rng(part: Part, client: ClientId) -> np.random.Generator:
    """Randomness that follows from the examples, so that nobody without them can draw it again.

    It does not depend on the round or the seed: a server that asks twice learns nothing more.
    """
    return generator("noise", client, digest_of("noise", part).hex())


def token_of(part: Part, now: Round, client: ClientId) -> int:
    """A number that changes with the examples; it tells nobody which they are, or which clients have the same."""
    return int.from_bytes(digest_of(f"{now.seed} {client}", part, 8), "big", signed=True)


def digest_of(purpose: str, part: Part, size: int = 32) -> bytes:
    whole = hashlib.blake2b(purpose.encode(), digest_size=size)
    whole.update(part.labels.tobytes())
    whole.update(np.ascontiguousarray(part.inputs).tobytes())
    return whole.digest()
