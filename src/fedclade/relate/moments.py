"""How far clients are apart, from their class moments: two unbiased squared distances.

Both subtract the variances of the means that they compare, so two samples of one distribution have expected distance
0 whatever their sizes; a single estimate may be negative.

joint        between the means of onehot(label) x [1, features]: which labels, and what they look like
conditional  between the means of the labels that both have: what they look like, whichever are common
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, InputError, Moments

CLIP = 10.0  # claimed variances count up to so many times the median: a larger one is a lie, and would hide its client
PRIOR = 5.0  # examples that the median of a label counts for, against what a client says of its own


@dataclass(frozen=True, eq=False)
class Apart:
    """Squared distances between clients, and how noisy each client's part in them is."""

    kind: str
    clients: tuple[ClientId, ...]
    squared: NDArray[np.float32]
    """(clients, clients), unbiased; 0 on the diagonal."""
    noise: NDArray[np.float64]
    """(clients,): what a client's sampling adds to a squared distance, already subtracted."""
    known: NDArray[np.bool_] | None = None
    """(clients, clients): whether the two can be compared; None: all can."""


@dataclass(frozen=True, eq=False)
class Profile:
    """A client in a product form: squared distances are one matrix product."""

    places: NDArray[np.float64]
    """(clients, numbers)"""
    noise: NDArray[np.float64]
    """(clients,): the variance of its place, summed."""


def spread(moments: Moments) -> NDArray[np.float64]:
    """The variance of one example around its label's mean, (clients, labels).

    What clients claim is clipped, and drawn to the label's median the harder the fewer examples it is from.
    """
    counts = moments.counts.astype(np.float64)
    told = counts >= 2
    each = np.where(told, moments.variances * counts, np.nan)
    middle = float(np.median(each[told])) if told.any() else 0.0
    each = np.minimum(each, CLIP * middle)
    usual = np.array(
        [
            np.median(column[~np.isnan(column)]) if told[:, label].any() else middle
            for label, column in enumerate(each.T)
        ]
    )
    degrees = np.maximum(counts - 1, 0)
    drawn: NDArray[np.float64] = (degrees * np.nan_to_num(each) + PRIOR * usual) / (degrees + PRIOR)
    return np.where(counts > 0, drawn, 0.0)


def joint_profile(moments: Moments) -> Profile:
    """The means of onehot(label) x [1, features], and the variances of these means."""
    counts = moments.counts.astype(np.float64)
    total = np.maximum(counts.sum(axis=1), 1)
    share = counts / total[:, None]
    means = np.concatenate([np.ones((*counts.shape, 1)), moments.means], axis=2)
    square = (means**2).sum(axis=2)
    second = (share * (square + spread(moments) * (1 - 1 / np.maximum(counts, 1)))).sum(axis=1)
    first = (share**2 * square).sum(axis=1)
    places = (share[:, :, None] * means).reshape(len(counts), -1)
    return Profile(places, np.maximum(second - first, 0) / np.maximum(total - 1, 1))


def joint(moments: Moments) -> Apart:
    """Between the means of onehot(label) x [1, features]."""
    check(moments)
    profile = joint_profile(moments)
    centred = profile.places - np.median(profile.places, axis=0)  # a common offset costs digits; a liar moves no median
    length = (centred**2).sum(axis=1) - profile.noise
    squared = product(centred, centred, length, length)
    np.fill_diagonal(squared, 0)
    return Apart("joint", moments.clients, squared, profile.noise)


def conditional(moments: Moments) -> Apart:
    """Between the means of the labels that two clients share, each label with weight sqrt(n_i n_j)."""
    check(moments)
    counts = moments.counts.astype(np.float64)
    weight = np.sqrt(counts)
    means = moments.means.astype(np.float64)
    for label in np.flatnonzero(counts.any(axis=0)):  # a common offset costs digits; a liar moves no median
        means[:, label] -= np.median(means[counts[:, label] > 0, label], axis=0)
    variance = spread(moments) / np.maximum(counts, 1)
    length = weight * ((means**2).sum(axis=2) - variance)
    shared = weight @ weight.T
    places = (weight[:, :, None] * means).reshape(len(counts), -1)
    squared = length @ weight.T
    squared = squared + squared.T - 2 * (places @ places.T)
    known = shared > 0
    squared = np.divide(squared, shared, out=np.zeros_like(squared), where=known).astype(np.float32)
    np.fill_diagonal(squared, 0)
    noise = (counts * variance).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return Apart("conditional", moments.clients, squared, noise, None if known.all() else known)


def product(
    one: NDArray[np.float64], other: NDArray[np.float64], lengths: NDArray[np.float64], others: NDArray[np.float64]
) -> NDArray[np.float32]:
    """|a|^2 + |b|^2 - 2ab for all pairs, with these for the squares."""
    return (lengths[:, None] + others[None, :] - 2 * (one @ other.T)).astype(np.float32)


def check(moments: Moments) -> None:
    """An error unless everybody told of an example."""
    silent = [client for client, told in zip(moments.clients, moments.counts.sum(axis=1) > 0, strict=True) if not told]
    if silent:
        raise InputError(f'client "{silent[0]}" has no moments', need="at least one label with a count")
