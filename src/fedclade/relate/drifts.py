"""What drifts tell: how each client's model moved in a round, from the one that all were sent.

A score is one number for each client: clients with like data should have like scores. Groups say outright who is like
whom. All of them look at directions only; how far a client moved says how much it trained.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, Groups, Rows
from fedclade.relate.cut import best_cut
from fedclade.relate.distances import Matrix
from fedclade.relate.number import CHANCE, GATE, apart_of

Scores = NDArray[np.float64]
"""(clients,)"""
DIGITS = 9  # of a score: clients with equal drifts have equal ones, however a product of matrices is summed


def unit(drifts: Rows) -> NDArray[np.float64]:
    """Directions: every drift with length 1, or 0 if it has none."""
    wide = drifts.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    found: NDArray[np.float64] = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return found


def principal_scores(drifts: Rows) -> Scores:
    """Places on the first principal component of the directions; the largest one is positive."""
    apart = unit(drifts)
    apart -= apart.mean(axis=0)
    values, vectors = np.linalg.eigh(apart @ apart.T)  # as small as there are clients
    places = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    found: Scores = np.round(places * (np.sign(places[np.abs(places).argmax()]) or 1.0), DIGITS)
    return found


def cosine_scores(drifts: Rows) -> Scores:
    """The cosine between each drift and the mean of all."""
    mean = drifts.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    found: Scores = np.round(unit(drifts) @ (mean / length), DIGITS) if length else np.zeros(len(drifts))
    return found


def drift_groups(clients: Sequence[ClientId], drifts: Rows, *, sure: bool = True) -> Groups:
    """Clients whose drifts point the same way, seen from their mean: average linkage, their number by silhouette.

    One group, if nothing stands apart; or, if one need not be sure, the best there are.
    """
    if len(clients) < 3:
        return Groups((tuple(clients),)) if clients else Groups(())
    apart = unit(drifts)
    apart = unit(apart - apart.mean(axis=0))
    squared = np.maximum(2 - 2 * apart @ apart.T, 0)
    np.fill_diagonal(squared, 0)
    cut = best_cut(apart_of(Matrix(tuple(clients), np.sqrt(squared).astype(np.float32))))
    return cut.groups if not sure or cut.gate >= GATE + CHANCE / len(clients) else Groups((tuple(clients),))


def nearest(group: Mapping[ClientId, int], clients: Sequence[ClientId], drifts: Rows) -> dict[ClientId, int]:
    """The group of each of these clients: its own where it has one, or that whose drifts point most like its own."""
    ways = unit(drifts)
    numbers = sorted({group[client] for client in clients if client in group})
    means = np.stack([ways[[group.get(client) == number for client in clients]].mean(axis=0) for number in numbers])
    like = (ways @ means.T).argmax(axis=1)
    return {client: group.get(client, numbers[like[place]]) for place, client in enumerate(clients)}
