"""CFL's Algorithm 1: the two parts of a cluster whose most alike members are least alike.

The paper joins the most alike pair again and again until two clusters are left: the last merge of single linkage. The
same two parts are left when the smallest edge of a maximum spanning tree is cut, which takes O(M^2).
"""

from dataclasses import dataclass

import numpy as np

from fedclade.clustering.cuts import nested_cuts
from fedclade.clustering.distances import Matrix
from fedclade.core import ClientId, InputError


@dataclass(frozen=True)
class Bipartition:
    """Two parts that cover a cluster: members in sorted order, the part with the first of all clients first."""

    parts: tuple[tuple[ClientId, ...], tuple[ClientId, ...]]
    cross: float
    """The largest similarity between a client of the one and a client of the other."""


def complete_linkage(alike: Matrix) -> Bipartition:
    """The last merge of complete linkage, as in the published code: the largest similarity across may be larger."""
    from scipy.cluster.hierarchy import linkage

    if len(alike.clients) < 2:
        raise InputError("one client cannot be parted", where="complete linkage", got="1", need="at least 2")
    order = np.argsort(np.array(alike.clients), kind="stable")
    values = alike.values[np.ix_(order, order)].astype(np.float64)
    tree = linkage((1 - values)[np.triu_indices(len(order), 1)], "complete")
    labels = nested_cuts(tree, 2)[0]
    ids = [alike.clients[number] for number in order]
    first, second = (
        tuple(client for client, label in zip(ids, labels, strict=True) if (label == labels[0]) == part)
        for part in (True, False)
    )
    across = np.not_equal.outer(labels, labels)
    return Bipartition((first, second), float(values[across].max()))


def bipartition(alike: Matrix) -> Bipartition:
    """The parts that minimise the largest similarity across (equation 23). Ids decide ties, not the order of rows."""
    count = len(alike.clients)
    if count < 2:
        raise InputError("one client cannot be parted", where="Algorithm 1", got=str(count), need="at least 2")
    order = np.argsort(np.array(alike.clients), kind="stable")
    ids = [alike.clients[number] for number in order]
    values = alike.values[np.ix_(order, order)]
    # Prim: the tree grows by the client that is most alike to one in it, from the first client on.
    nearest, alikeness = np.zeros(count, np.int64), values[0].astype(np.float64)
    outside = np.ones(count, bool)
    outside[0] = False
    added: list[int] = []
    edges = np.full(count, np.inf)
    for _ in range(count - 1):
        chosen = int(np.where(outside, alikeness, -np.inf).argmax())
        outside[chosen] = False
        edges[chosen] = alikeness[chosen]
        added.append(chosen)
        closer = outside & (values[chosen] > alikeness)
        nearest[closer], alikeness[closer] = chosen, values[chosen][closer]
    cut = int(edges.argmin())
    below = np.zeros(count, bool)
    for client in added:  # those that hang on the cut edge
        below[client] = client == cut or below[nearest[client]]
    first, second = (tuple(client for client, low in zip(ids, below, strict=True) if low == part) for part in (0, 1))
    return Bipartition((first, second), float(edges[cut]))


def inside_similarity(alike: Matrix, found: Bipartition) -> float:
    """How alike a client is to the nearest other of its own part, on average; 0 for one that is alone in it.

    Nearest and not mean: a part may hold several groups that have yet to be split.
    """
    place = {client: number for number, client in enumerate(alike.clients)}
    total = 0.0
    for part in found.parts:
        numbers = [place[client] for client in part]
        block = alike.values[np.ix_(numbers, numbers)].astype(np.float64)
        np.fill_diagonal(block, -np.inf)
        total += float(block.max(axis=1).sum()) if len(part) > 1 else 0.0
    return total / len(alike.clients)
