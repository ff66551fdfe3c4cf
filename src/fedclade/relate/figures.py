"""What a figure of a discovery needs, as plain lists: for a run's events."""

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Points
from fedclade.relate.discovery import Found
from fedclade.relate.scaling import laid_out

Plain: TypeAlias = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None
SHOWN = 3  # dimensions of a point that can be shown as it is
MOST_SHOWN = 200  # clients: a matrix of more is no figure, and would fill the log


def figures(found: Found, weights: NDArray[np.float32] | None = None) -> dict[str, Plain]:
    """Groups, gates, silhouettes; for up to 200 clients also distances, adjacency, embedding, sketches and tree.

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
    if len(found.clients) <= MOST_SHOWN:
        labels = found.partition.labels
        together = np.equal.outer(*([[labels[client] for client in found.clients]] * 2))
        told |= {
            "clients": list(found.clients),
            "groups": [list(members) for members in found.partition.members],
            "order": list(found.order),
            "tree": rounded(found.tree),
            "squared_distances": rounded(found.squared),
            "adjacency": rounded(together if weights is None else weights),
            "embedding": rounded(laid_out(found.squared)),
        }
        if found.sketches is not None:
            told["sketches"] = sketched(found.sketches)
    return told


def kept_for_figures(found: Found) -> Found:
    """The same without the tables that no figure will show: 10,000 clients have 400 MB of distances."""
    if len(found.clients) <= MOST_SHOWN:
        return found
    return replace(found, squared=np.zeros((0, 0), np.float32), tree=np.zeros((0, 4)), sketches=None)


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
