"""What a figure of a discovery needs, as plain lists: for a run's events."""

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Points
from fedclade.relate.cut import best_cut
from fedclade.relate.discovery import Found
from fedclade.relate.moments import Apart
from fedclade.relate.scaling import laid_out

Plain: TypeAlias = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None
SHOWN = 3  # dimensions of a point that can be shown as it is
MOST_ROWS = 200  # of a matrix: one of more is no figure, and would fill the log
MOST_SHOWN = 1000  # clients that a tree or a map can show


def figures(found: Found, weights: NDArray[np.float32] | None = None) -> dict[str, Plain]:
    """Groups, gates, silhouettes, and for up to 1,000 clients order, tree and embedding.

    For up to 200 also distances, adjacency and sketches; for more, distances and adjacency are means over bins of
    clients that stand beside each other in their group and in the tree. Of more than 1,000, as many are shown.

    `weights`: who is related to whom, (clients, clients), where that is not the groups.
    """
    told: dict[str, Plain] = {
        "distance": found.kind,
        "gates": {kind: round(gate, 4) for kind, gate in found.gates.items()},
        "passed": found.passed,
        "confidence": round(found.confidence, 4),
        "count": found.count,
        "sizes": [len(members) for members in found.groups],
        "outliers": list(found.outliers),
        "silhouettes": {str(count): round(score, 4) for count, score in found.silhouettes.items()},
    }
    found = kept_for_figures(found)
    if len(found.clients) != len(found.squared):  # nothing was kept
        return told
    labels = found.partition.labels
    together = np.equal.outer(*([[labels[client] for client in found.clients]] * 2))
    related = together if weights is None or weights.shape != together.shape else weights
    shown = set(found.clients)
    told |= {
        "clients": list(found.clients),
        "groups": [[client for client in members if client in shown] for members in found.partition.members],
        "order": list(found.order),
        "tree": rounded(found.tree),
        "embedding": rounded(laid_out(found.squared)),
    }
    if len(found.clients) <= MOST_ROWS:
        told |= {"squared_distances": rounded(found.squared), "adjacency": rounded(related)}
        if found.sketches is not None:
            told["sketches"] = sketched(found.sketches)
    else:
        told["binned"] = binned(found, related)
    return told


def binned(found: Found, related: NDArray[np.generic]) -> Plain:
    """Distances and adjacency as means over bins: clients that stand beside each other, of one group each."""
    labels, leaf = found.partition.labels, {client: place for place, client in enumerate(found.order)}
    rows = sorted(
        range(len(found.clients)), key=lambda row: (labels[found.clients[row]], leaf.get(found.clients[row], row))
    )
    groups = np.array([labels[found.clients[row]] for row in rows])
    size = max(2, -(-len(rows) // MOST_ROWS))
    within = np.concatenate([np.arange(count) for count in np.unique(groups, return_counts=True)[1]])
    starts = np.flatnonzero(within % size == 0)
    sizes = np.diff([*starts, len(rows)])

    def means(table: NDArray[np.generic]) -> list[Plain]:
        ordered = table.astype(np.float64)[np.ix_(rows, rows)]
        sums = np.add.reduceat(np.add.reduceat(ordered, starts, axis=0), starts, axis=1)
        return rounded(sums / np.outer(sizes, sizes))

    return {"sizes": sizes.tolist(), "squared_distances": means(found.squared), "adjacency": means(related)}


def kept_for_figures(found: Found) -> Found:
    """The same, of no more clients than a figure shows: 10,000 have 400 MB of distances.

    Every so many-th client in the order of the tree is kept, with a tree of their own.
    """
    if len(found.clients) <= MOST_SHOWN or len(found.clients) != len(found.squared):
        return found
    row = {client: number for number, client in enumerate(found.clients)}
    drawn = np.unique(np.linspace(0, len(found.order) - 1, MOST_SHOWN).round().astype(int))
    some = np.sort([row[found.order[place]] for place in drawn])
    squared = found.squared[np.ix_(some, some)]
    clients = tuple(found.clients[number] for number in some)
    cut = best_cut(Apart(found.kind, clients, squared, np.zeros(len(some))), 2)
    return replace(found, clients=clients, squared=squared, tree=cut.tree, order=cut.order, sketches=None)


def sketched(points: Points) -> list[Plain]:
    """Each client's points in two dimensions (or three of UMAP's), in the order of `clients`; fillers left out.

    Points that were not embedded are shown by their first two principal components.
    """
    there = points.counts > 0
    real = points.places[there].astype(np.float64)
    if real.shape[1] > SHOWN:
        real = real - real.mean(axis=0)
        _, vectors = np.linalg.eigh(real.T @ real)
        first = vectors[:, :-3:-1]
        real = real @ (first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])]))
    ends = np.cumsum(there.sum(axis=1))[:-1]
    return [rounded(own) for own in np.split(real, ends)]


def rounded(table: NDArray[np.generic]) -> list[Plain]:
    """A matrix as lists, with five digits behind the point."""
    found: list[Plain] = np.round(np.asarray(table, np.float64), 5).tolist()
    return found
