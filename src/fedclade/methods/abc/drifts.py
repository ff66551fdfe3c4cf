"""Scores and groups from drifts: how each client's model moved in a round, from the one that all were sent.

A score is one number for each client: clients with similar data should have similar scores. Groups show directly which
clients are similar. All of them read directions only; how far a client moved shows only how much it trained.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.cuts import best_cut
from fedclade.clustering.distances import Matrix
from fedclade.clustering.group_number import FEW_CLIENTS_MARGIN, MIN_SEPARATION, pair_distances
from fedclade.core import ClientId, Groups, Rows

DriftScores = NDArray[np.float64]
"""(clients,)"""
DIGITS = 9  # of a score: equal drifts get equal scores, however a product of matrices is summed


def unit(drifts: Rows) -> NDArray[np.float64]:
    """Directions: every drift with length 1, or 0 if it has none."""
    wide = drifts.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    found: NDArray[np.float64] = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    return found


def principal_scores(drifts: Rows) -> DriftScores:
    """Places on the first principal component of the directions."""
    found: DriftScores = np.round(first_component(unit(drifts)), DIGITS)
    return found


def first_component(rows: NDArray[np.float64]) -> DriftScores:
    """Places on the first principal component of these rows; the largest one is positive."""
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)  # (clients, clients): small
    places = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    found: DriftScores = places * (np.sign(places[np.abs(places).argmax()]) or 1.0)
    return found


def cosine_scores(drifts: Rows) -> DriftScores:
    """The cosine between each drift and the mean of all."""
    mean = drifts.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    found: DriftScores = np.round(unit(drifts) @ (mean / length), DIGITS) if length else np.zeros(len(drifts))
    return found


def drift_groups(clients: Sequence[ClientId], drifts: Rows, *, sure: bool = True) -> Groups:
    """Groups of drifts that point the same way, seen from their mean: average linkage, their number by silhouette.

    One group if none stands apart; or, if not `sure`, the best cut in any case.
    """
    one_group = Groups((tuple(clients),) if clients else ())
    if len(clients) < 3:
        return one_group
    apart = unit(drifts)
    apart = unit(apart - apart.mean(axis=0))
    squared = np.maximum(2 - 2 * apart @ apart.T, 0)
    np.fill_diagonal(squared, 0)
    cut = best_cut(pair_distances(Matrix(tuple(clients), np.sqrt(squared).astype(np.float32))))
    is_separated = cut.separation >= MIN_SEPARATION + FEW_CLIENTS_MARGIN / len(clients)
    return cut.groups if is_separated or not sure else one_group


def nearest_groups(group: Mapping[ClientId, int], clients: Sequence[ClientId], drifts: Rows) -> dict[ClientId, int]:
    """The group of each of these clients: its own where it has one, or the one with the most similar drifts."""
    directions = unit(drifts)
    numbers = sorted({group[client] for client in clients if client in group})
    members = [[group.get(client) == number for client in clients] for number in numbers]
    means = np.stack([directions[own].mean(axis=0) for own in members])
    nearest = (directions @ means.T).argmax(axis=1)
    return {client: group.get(client, numbers[nearest[place]]) for place, client in enumerate(clients)}
