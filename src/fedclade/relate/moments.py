"""How far clients are apart, from their class moments: two unbiased squared distances.

Both subtract the variances of the means that they compare, so two samples of one distribution have expected distance
0 whatever their sizes; a single estimate may be negative.

joint        between the means of onehot(label) x [1, features]: which labels, and what they look like
conditional  between the means of the labels that both have: what they look like, whichever are common
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, InputError, Moments

CLIP = 10.0  # claimed variances count up to so many times the median: a larger one is a lie, and would hide its client
ROOM = 2**22  # numbers of a table that are worked on at once
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
    """Clients in a form in which all squared distances are three matrix products, whatever their kind.

    With weights a, lengths a q and places a m: the sum of a_i a_j (q_i + q_j - 2 m_i m_j) over the sum of a_i a_j.
    """

    weights: NDArray[np.float64]
    """(clients, labels), or a column of ones."""
    lengths: NDArray[np.float64]
    """The same times the squared length of each mean, less its variance."""
    places: NDArray[np.float64]
    """(clients, labels x features): the same times the mean."""
    noise: NDArray[np.float64]
    """(clients,): as in Apart."""

    def table(self, rows: slice, columns: slice) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The squared distances of these to those, and whether they can be compared; a few rows at a time."""
        first, count, other = rows.start or 0, len(self.noise[rows]), len(self.noise[columns])
        squared, known = np.zeros((count, other), np.float32), np.zeros((count, other), bool)
        for piece in pieces(count, other):
            there = slice(first + piece.start, first + piece.stop)
            squared[piece], known[piece] = self.products(there, columns)
        return squared, known

    def square(self) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The same of all to all: each pair once, and mirrored."""
        count = len(self.noise)
        squared, known = np.zeros((count, count), np.float32), np.zeros((count, count), bool)
        for piece in pieces(count, count):
            beyond = slice(piece.start, None)
            squared[piece, beyond], known[piece, beyond] = self.products(piece, beyond)
            squared[beyond, piece], known[beyond, piece] = squared[piece, beyond].T, known[piece, beyond].T
        return squared, known

    def products(self, rows: slice, columns: slice) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The squared distances of these to those at once, and whether they can be compared."""
        weights, others = self.weights[rows], self.weights[columns].T
        shared = weights @ others
        found = self.lengths[rows] @ others + weights @ self.lengths[columns].T
        found -= 2 * (self.places[rows] @ self.places[columns].T)
        can = shared > 0
        return np.divide(found, shared, out=np.zeros_like(found), where=can), can


def pieces(count: int, width: int) -> Iterator[slice]:
    """Rows of a table in pieces with room for them."""
    step = max(1, ROOM // max(width, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


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
    noise = np.maximum(second - first, 0) / np.maximum(total - 1, 1)
    places = (share[:, :, None] * means).reshape(len(counts), -1)
    places -= np.median(places, axis=0)  # a common offset costs digits; a liar moves no median
    return Profile(np.ones((len(counts), 1)), ((places**2).sum(axis=1) - noise)[:, None], places, noise)


def conditional_profile(moments: Moments) -> Profile:
    """The means of each label, with weight sqrt(n): sqrt(n_i n_j) for a label that two clients share."""
    counts = moments.counts.astype(np.float64)
    weights = np.sqrt(counts)
    means = moments.means.astype(np.float64)
    for label in np.flatnonzero(counts.any(axis=0)):  # as above
        means[:, label] -= np.median(means[counts[:, label] > 0, label], axis=0)
    variance = spread(moments) / np.maximum(counts, 1)
    lengths = weights * ((means**2).sum(axis=2) - variance)
    places = (weights[:, :, None] * means).reshape(len(counts), -1)
    noise = (counts * variance).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return Profile(weights, lengths, places, noise)


PROFILES: dict[str, Callable[[Moments], Profile]] = {"joint": joint_profile, "conditional": conditional_profile}


def joint(moments: Moments) -> Apart:
    """Between the means of onehot(label) x [1, features]."""
    return apart("joint", moments)


def conditional(moments: Moments) -> Apart:
    """Between the means of the labels that two clients share."""
    return apart("conditional", moments)


def apart(kind: str, moments: Moments) -> Apart:
    """All squared distances of one kind."""
    check(moments)
    profile = PROFILES[kind](moments)
    squared, known = profile.square()
    np.fill_diagonal(squared, 0)
    return Apart(kind, moments.clients, squared, profile.noise, None if known.all() else known)


def check(moments: Moments) -> None:
    """An error unless everybody told of an example."""
    silent = [client for client, told in zip(moments.clients, moments.counts.sum(axis=1) > 0, strict=True) if not told]
    if silent:
        raise InputError(f'client "{silent[0]}" has no moments', need="at least one label with a count")
