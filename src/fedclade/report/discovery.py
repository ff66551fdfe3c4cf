"""What a discovery told about clients, from the plain facts of an event: see `fedclade.relate.figures`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId
from fedclade.report.story import Facts, listed, mapping, names, number, table

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Discovery:
    """Who was found to belong with whom, and the figures behind it."""

    clients: tuple[ClientId, ...]
    """Whose rows and columns the tables are of; none where there were too many to tell."""
    groups: Mapping[ClientId, int]
    """The number of each one's group."""
    order: tuple[ClientId, ...]
    """The clients in the order of the tree's leaves."""
    distances: Matrix
    """(clients, clients), or (bins, bins): from 0."""
    adjacency: Matrix
    """The same for who learns from whom."""
    bins: tuple[int, ...]
    """How many clients each bin holds, in the order of groups and leaves; none: every row is a client."""
    tree: Matrix
    """scipy's linkage of the clients, its heights squared."""
    places: Matrix
    """(clients, 2): where distances put them on a map."""
    sketches: tuple[Matrix, ...]
    """Each client's points; none where none were sent."""
    silhouettes: Mapping[int, float]
    """How well so many groups are told apart."""
    passed: bool
    confidence: float

    @property
    def arranged(self) -> list[int]:
        """Positions of the clients: group by group, each in the order of the leaves."""
        leaf = {client: place for place, client in enumerate(self.order)}
        last = len(leaf)
        return sorted(
            range(len(self.clients)),
            key=lambda row: (self.groups.get(self.clients[row], -1), leaf.get(self.clients[row], last)),
        )


def discovery_of(facts: Facts) -> Discovery:
    """The facts of a discovery, checked: what does not fit together counts as not told."""
    clients = tuple(names(facts.get("clients")))
    groups = {client: index for index, members in enumerate(listed(facts.get("groups"))) for client in names(members)}
    binned = mapping(facts.get("binned"))
    bins = tuple(int(number(size, 0)) for size in listed(binned.get("sizes")))
    rows = len(bins) or len(clients)
    squared, adjacency = table((binned or facts).get("squared_distances")), table((binned or facts).get("adjacency"))
    tree, places = table(facts.get("tree")), table(facts.get("embedding"))
    sketches = tuple(table(points) for points in listed(facts.get("sketches")))
    none = np.zeros((0, 0))
    return Discovery(
        clients,
        groups,
        tuple(names(facts.get("order"))),
        np.sqrt(np.maximum(squared, 0)) if squared.shape == (rows, rows) else none,
        adjacency if adjacency.shape == (rows, rows) else none,
        bins,
        tree if tree.shape == (len(clients) - 1, 4) and is_tree(tree) else none,
        places if places.shape == (len(clients), 2) else none,
        sketches if len(sketches) == len(clients) else (),
        {int(count): number(score) for count, score in mapping(facts.get("silhouettes")).items() if count.isdigit()},
        facts.get("passed") is True,
        number(facts.get("confidence")),
    )


def is_tree(tree: Matrix) -> bool:
    """Whether this is scipy's linkage: what cannot be drawn is not drawn."""
    from scipy.cluster.hierarchy import is_valid_linkage

    return bool(np.isfinite(tree).all()) and len(tree) > 0 and bool(is_valid_linkage(tree))
