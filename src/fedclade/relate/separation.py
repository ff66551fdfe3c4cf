"""CFL's separation gap: whether the planted groups can be told from similarities (Definition 2). It needs the truth."""

import numpy as np

from fedclade.nouns import Groups
from fedclade.relate.bipartition import bipartition
from fedclade.relate.distances import Matrix


def separation_gap(alike: Matrix, truth: Groups) -> float | None:
    """g(alpha): the smallest similarity inside a planted group, minus the largest across the best bipartition.

    Above 0 the bipartition divides no group (Corollary 1). None where no two clients are of one group.
    """
    labels = np.array([truth.labels.get(client, -1 - number) for number, client in enumerate(alike.clients)])
    together = np.triu(labels[:, None] == labels, 1)
    if not together.any():
        return None
    return float(alike.values[together].min()) - bipartition(alike).cross
