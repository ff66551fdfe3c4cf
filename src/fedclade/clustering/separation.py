"""CFL's separation gap (Definition 2): whether similarities show the planted groups. It needs the truth."""

import numpy as np

from fedclade.clustering.bipartition import bipartition
from fedclade.clustering.distances import Matrix
from fedclade.core import Groups


def separation_gap(alike: Matrix, truth: Groups) -> float | None:
    """g(alpha): the smallest similarity inside a planted group, minus the largest across the best bipartition.

    Above 0 the bipartition divides no group (Corollary 1). None where no two clients are of one group.
    """
    labels = np.array([truth.labels.get(client, -1 - number) for number, client in enumerate(alike.clients)])
    together = np.triu(labels[:, None] == labels, 1)
    if not together.any():
        return None
    return float(alike.values[together].min()) - bipartition(alike).cross
