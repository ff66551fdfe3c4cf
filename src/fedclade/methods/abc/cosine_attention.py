"""Attention between clients that does tell them apart: ours, which is ABC's without all that did not help.

Queries and keys are the directions of the drifts seen from their mean, so that a logit is a cosine times a temperature;
nothing is encoded. Only the temperature is learned, to predict the drift of a client in the next round from what the
others do now, which rewards telling clients apart. A client attends to itself in use, but not in training.

The score of a client is its place on the first principal component of the rows of weights, and not its share of all
attention: in groups of equal size that share is the same for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError, Rows
from fedclade.methods.abc.attention import AttentionArray, softmax
from fedclade.methods.abc.drifts import DIGITS, first_component, unit

MAX_TEMPERATURE = 100.0  # a temperature beyond it is no better than this one
MIN_DISTANCE_FROM_MEAN = 1e-6  # of a direction's length: a direction nearer to the mean counts as equal to it


@dataclass(frozen=True, eq=False)
class RoundPair:
    """Two consecutive rounds as cosines: all that learning needs of them."""

    now: AttentionArray
    """(clients, clients): between the drifts of the first."""
    next: AttentionArray
    """(clients, clients): of those of the first (rows) with those of the second (columns)."""


def centred_directions(drifts: Rows) -> AttentionArray:
    """Directions as seen from their mean; zero for one that equals it."""
    seen = unit(drifts)
    seen = seen - seen.mean(axis=0)
    lengths = np.linalg.norm(seen, axis=1, keepdims=True)
    found: AttentionArray = np.divide(seen, lengths, out=np.zeros_like(seen), where=lengths > MIN_DISTANCE_FROM_MEAN)
    return found


def weights(temperature: float, drifts: Rows) -> AttentionArray:
    """(clients, clients): how much each client (row) attends to each (column)."""
    seen = centred_directions(drifts)
    return softmax(temperature * seen @ seen.T)


def scores(temperature: float, drifts: Rows) -> AttentionArray:
    """(clients,): places on the first component of the weights' rows, 1 on average; the farthest is above 1."""
    found: AttentionArray = np.round(1 + first_component(weights(temperature, drifts)), DIGITS)
    return found


def pair_of(first: Rows, second: Rows) -> RoundPair:
    """Two rounds of drifts as cosines."""
    now, later = centred_directions(first), centred_directions(second)
    return RoundPair(now @ now.T, now @ later.T)


def prediction_error(temperature: float, pairs: Sequence[RoundPair]) -> float:
    """The mean squared distance between clients' next directions and the mix of others that they attend to now."""
    sums = []
    for pair in pairs:
        logits = temperature * pair.now
        np.fill_diagonal(logits, -np.inf)
        rows = softmax(logits)
        mixed = np.einsum("ij,jk,ik->i", rows, pair.now, rows)
        product: NDArray[np.float64] = np.einsum("ij,ji->i", rows, pair.next)
        sums.append(float((mixed - 2 * product + 1).mean()))
    return float(np.mean(sums))


def fit_temperature(pairs: Sequence[RoundPair]) -> float:
    """The temperature with the least error."""
    from scipy.optimize import minimize_scalar

    if not pairs or len(pairs[0].now) < 3:
        got = f"{len(pairs)} pairs of rounds"
        raise InputError("too little was watched", where="attention+", got=got, need="1 or more, of 3 clients or more")
    bounds = (0.0, MAX_TEMPERATURE)
    return float(minimize_scalar(lambda one: prediction_error(float(one), pairs), bounds=bounds, method="bounded").x)
