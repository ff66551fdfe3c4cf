"""k-means over models on a server: a k-means++ start, Lloyd's steps with weights.

Rows may have a hundred thousand numbers and there are few of them, so everything is done on the products of rows: one
matrix product, then no step costs more than (clients, clusters) numbers.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError, Rows

STARTS = 10  # the best of these is taken
STEPS = 100  # of each start, at most

Weights = NDArray[np.float64]
"""(clients,)"""
Products = NDArray[np.float64]
"""(clients, clients): the products of any two rows."""


def cluster_rows(
    clients: Sequence[ClientId], rows: Rows, weights: Weights, count: int, rng: np.random.Generator
) -> dict[ClientId, int]:
    """The cluster of each client, 0 to count - 1, in the order in which clusters first appear."""
    if not len(clients) == len(rows) == len(weights) >= count >= 1:
        got = f"{len(clients)} clients, {len(rows)} rows, {len(weights)} weights"
        need = f"one row and one weight for each, {count} or more"
        raise InputError("too few rows for so many clusters", where="fedsem.kmeans", got=got, need=need)
    products = row_products(rows)
    best, least = np.zeros(len(rows), np.int64), np.inf
    for _ in range(STARTS):
        labels, inertia = lloyd(products, weights, first_labels(products, weights, count, rng), count)
        if inertia < least - 1e-12:
            best, least = labels, inertia
    numbers = {label: number for number, label in enumerate(dict.fromkeys(best.tolist()))}
    return {client: numbers[label] for client, label in zip(clients, best.tolist(), strict=True)}


def continue_clusters(clients: Sequence[ClientId], rows: Rows, weights: Weights, centres: Rows) -> dict[ClientId, int]:
    """The cluster of each client when Lloyd's steps start at these centres; their numbers stay."""
    began = nearest_centres(clients, rows, centres)
    labels = np.array([began[client] for client in clients], np.int64)
    found, _ = lloyd(row_products(rows), weights, labels, len(centres))
    return dict(zip(clients, found.tolist(), strict=True))


def row_products(rows: Rows) -> Products:
    """The products of any two rows, seen from their mean."""
    apart = rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32)  # a common offset costs digits
    products: Products = (apart @ apart.T).astype(np.float64)
    return products


def first_labels(products: Products, weights: Weights, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """k-means++: each next centre is a row, drawn by its weight and its squared distance to those so far."""
    squares = np.diag(products)
    chosen = [int(rng.choice(len(weights), p=weights / weights.sum()))]
    while len(chosen) < count:
        apart = squares[:, None] - 2 * products[:, chosen] + squares[chosen]
        near = weights * np.maximum(apart.min(axis=1), 0)
        near[chosen] = 0
        if not near.sum() > 0:  # all rows are where a centre is
            near = np.array([float(number not in chosen) for number in range(len(weights))])
        chosen.append(int(rng.choice(len(weights), p=near / near.sum())))
    found: NDArray[np.int64] = (squares[:, None] - 2 * products[:, chosen] + squares[chosen]).argmin(axis=1)
    found[chosen] = np.arange(count)  # also where two centres stand at one place
    return found


def lloyd(
    products: Products, weights: Weights, labels: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], float]:
    """Lloyd's steps until no row moves: the cluster of each row, and the weighted sum of squared distances."""
    squares = np.diag(products)
    for _ in range(STEPS):
        share = np.zeros((len(labels), count))
        share[np.arange(len(labels)), labels] = weights
        share /= np.maximum(share.sum(axis=0), np.finfo(float).tiny)
        towards = products @ share  # of each row with each centre
        lengths = np.einsum("ik,ik->k", share, towards)
        apart = np.where(share.any(axis=0), squares[:, None] - 2 * towards + lengths, np.inf)
        found = apart.argmin(axis=1)
        if np.array_equal(found, labels):
            break
        labels = found
    inertia = float((weights * np.maximum(apart[np.arange(len(labels)), labels], 0)).sum())
    return labels, inertia


def nearest_centres(clients: Sequence[ClientId], rows: Rows, centres: Rows) -> dict[ClientId, int]:
    """The centre that each client's row is nearest to; the first of equals."""
    if not len(rows):
        return {}
    middle = centres.mean(axis=0, dtype=np.float64).astype(np.float32)
    mine, theirs = rows - middle, centres - middle
    lengths = np.einsum("ij,ij->i", theirs, theirs, dtype=np.float64)
    likeness = (mine @ theirs.T).astype(np.float64) - lengths / 2
    return {client: int(row) for client, row in zip(clients, likeness.argmax(axis=1), strict=True)}


def centres_of(
    cluster_by_client: Mapping[ClientId, int], clients: Sequence[ClientId], rows: Rows, weights: Weights, old: Rows
) -> Rows:
    """The weighted mean of each cluster's rows, in double precision; an empty one stays where it was."""
    share = np.zeros((len(old), len(clients)))
    for number, client in enumerate(clients):
        share[cluster_by_client[client], number] = weights[number]
    sums = share.sum(axis=1)
    new = np.array(old)
    there = sums > 0
    new[there] = (share[there] / sums[there, None]) @ rows.astype(np.float64)
    return new
