"""Attention between clients that does tell them apart: ours, with all that did not help taken away from ABC's.

Queries and keys are the drifts' own directions, seen from their mean, so that a logit is a cosine times a temperature;
nothing is encoded. What is learnt is the temperature, from a target that rewards telling clients apart: a client's
drift in the next round, from what the others do now. A client attends to itself in use, but not in training.

A client's score is its place on the first principal component of the rows of weights, and not its share of everybody's
attention: in groups of equal size that share is the same for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import InputError, Rows
from fedclade.relate.attention import Floats, softmax
from fedclade.relate.drifts import DIGITS, unit

HOTTEST = 100.0  # a temperature beyond it is no better than this one
SAME = 1e-6  # of a direction's length: who is nearer than this to the mean is at it


@dataclass(frozen=True, eq=False)
class Pair:
    """Two rounds, one after the other, as cosines: all that learning needs of them."""

    now: Floats
    """(clients, clients): between the drifts of the first."""
    next: Floats
    """(clients, clients): of those of the first (rows) with those of the second (columns)."""


def apart(drifts: Rows) -> Floats:
    """Directions as seen from their mean; zero for who is at it."""
    seen = unit(drifts)
    seen = seen - seen.mean(axis=0)
    lengths = np.linalg.norm(seen, axis=1, keepdims=True)
    found: Floats = np.divide(seen, lengths, out=np.zeros_like(seen), where=lengths > SAME)
    return found


def weights(temperature: float, drifts: Rows) -> Floats:
    """(clients, clients): how much each client (row) attends to each (column)."""
    seen = apart(drifts)
    return softmax(temperature * seen @ seen.T)


def scores(temperature: float, drifts: Rows) -> Floats:
    """(clients,): places on the first component of the weights' rows, 1 on average; the farthest is above 1."""
    rows = weights(temperature, drifts)
    rows = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(rows @ rows.T)
    places = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    found: Floats = np.round(1 + places * (np.sign(places[np.abs(places).argmax()]) or 1.0), DIGITS)
    return found


def pair_of(first: Rows, second: Rows) -> Pair:
    """Two rounds of drifts as cosines."""
    now, later = apart(first), apart(second)
    return Pair(now @ now.T, now @ later.T)


def error(temperature: float, pairs: Sequence[Pair]) -> float:
    """The mean squared distance between clients' next directions and what they attend to now, themselves left out."""
    sums = []
    for pair in pairs:
        logits = temperature * pair.now
        np.fill_diagonal(logits, -np.inf)
        rows = softmax(logits)
        mixed = np.einsum("ij,jk,ik->i", rows, pair.now, rows)
        met: NDArray[np.float64] = np.einsum("ij,ji->i", rows, pair.next)
        sums.append(float((mixed - 2 * met + 1).mean()))
    return float(np.mean(sums))


def learnt(pairs: Sequence[Pair]) -> float:
    """The temperature with the least error."""
    from scipy.optimize import minimize_scalar

    if not pairs or len(pairs[0].now) < 3:
        raise InputError(
            "too little was watched",
            where="attention+",
            got=f"{len(pairs)} pairs of rounds",
            need="1 or more, of 3 clients or more",
        )
    found = minimize_scalar(lambda given: error(float(given), pairs), bounds=(0.0, HOTTEST), method="bounded")
    return float(found.x)
