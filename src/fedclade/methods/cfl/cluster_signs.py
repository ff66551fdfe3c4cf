"""What the updates of a cluster show: norms, angles, and the two parts that it could be split into."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from fedclade.clustering.bipartition import Bipartition, bipartition, complete_linkage, inside_similarity
from fedclade.clustering.distances import Matrix, cosines
from fedclade.core import ClientId, Row
from fedclade.fleet import Updates
from fedclade.methods.mixing import weighted_mean

Linkage = Literal["single", "complete"]
PARTITIONS: dict[Linkage, Callable[[Matrix], Bipartition]] = {"single": bipartition, "complete": complete_linkage}


@dataclass(frozen=True, eq=False)
class Update:
    """How far a client moved the model that it was sent."""

    row: Row
    examples: int
    round: int


@dataclass(frozen=True)
class ClusterSigns:
    """What a cluster shows in a round."""

    clients: int
    """How many were heard."""
    mean_norm: float
    """Of the weighted mean of the updates: 0 at a stationary point of the cluster."""
    largest_norm: float
    """Of the updates of single clients: 0 where each is at a stationary point of its own."""
    usual_norm: float
    """Of the median client in that of the two parts which moves more: large if a part as a whole is not at rest."""
    mean_seen: float
    """The largest of `mean_norm` since the cluster began, this round's among them."""
    usual_seen: float
    """The same of `usual_norm`."""
    cross: float = 1.0
    """The largest similarity across the best bipartition; 1 for one client."""
    inside: float = 1.0
    """How alike a client is to the nearest of its own part, on average; 1 for one client."""


def compute_signs(
    heard: Mapping[ClientId, Update], mean_seen: float, usual_seen: float, linkage: Linkage = "single"
) -> tuple[ClusterSigns, Bipartition | None, Matrix]:
    """The signs of a round, the best two parts (None for one client), and all similarities."""
    rows = np.stack([update.row for update in heard.values()])
    mean = float(np.linalg.norm(weighted_mean(rows, [update.examples for update in heard.values()])))
    norms = dict(zip(heard, np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)).tolist(), strict=True))
    alike = cosines(list(heard), rows)
    found = PARTITIONS[linkage](alike) if len(heard) > 1 else None
    parts = (tuple(heard),) if found is None else found.parts
    usual = max(median(norms[client] for client in part) for part in parts)
    similarity = (1.0, 1.0) if found is None else (found.cross, inside_similarity(alike, found))
    seen = max(mean_seen, mean), max(usual_seen, usual)
    return ClusterSigns(len(heard), mean, max(norms.values()), usual, *seen, *similarity), found, alike


def mean_model(model: Row, clients: Sequence[ClientId], trained: Updates) -> Row:
    """Algorithm 2, line 7: the mean of these clients' models, weighted by examples; `model` if none was heard."""
    among = set(clients)
    heard = [number for number, client in enumerate(trained.clients) if client in among]
    return weighted_mean(trained.rows[heard], trained.examples[heard].tolist()).astype(np.float32) if heard else model
