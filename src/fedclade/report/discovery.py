"""What a discovery told about clients, made from its facts (`fedclade.relate.discovery_facts`) for figures."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId
from fedclade.relate.cut import average_linkage
from fedclade.relate.moments import Apart
from fedclade.relate.scaling import laid_out
from fedclade.report.story import Facts, listed, mapping, names, number, table

Matrix = NDArray[np.float64]
SHOWN = 3  # dimensions of a point that can be shown as it is
MOST_CLIENTS = 1000  # whose distances are looked at: a map takes time with their cube
MOST_FEATURES = 4096  # of a sketch that is flattened
LARGEST = 1e30  # of a distance or a point
MOST_ROWS = 200  # of a matrix: more are shown as means over bins of clients
NONE: Matrix = np.zeros((0, 0))


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


@dataclass(frozen=True, eq=False)
class Tables:
    """What is drawn of a discovery: see `Discovery`."""

    order: tuple[ClientId, ...]
    squared: Matrix
    adjacency: Matrix
    bins: tuple[int, ...]
    tree: Matrix
    places: Matrix
    sketches: tuple[Matrix, ...] = ()


LATEST: list[tuple[Facts, Discovery]] = []
"""Several figures are drawn of one discovery: it is made once."""


def discovery_of(facts: Facts) -> Discovery:
    """The facts of a discovery, checked: what does not fit together counts as not told."""
    if not LATEST or LATEST[0][0] is not facts:
        LATEST[:] = [(facts, made_of(facts))]
    return LATEST[0][1]


def made_of(facts: Facts) -> Discovery:
    """The discovery of these facts."""
    clients = tuple(names(facts.get("clients")))
    groups = {client: index for index, members in enumerate(listed(facts.get("groups"))) for client in names(members)}
    tables = tables_of(facts, clients, groups)
    rows = len(tables.bins) or len(clients)
    whole = (rows, rows)
    return Discovery(
        clients,
        groups,
        tables.order,
        np.sqrt(np.maximum(tables.squared, 0)) if tables.squared.shape == whole else NONE,
        tables.adjacency if tables.adjacency.shape == whole else NONE,
        tables.bins,
        tables.tree if tables.tree.shape == (len(clients) - 1, 4) and is_tree(tables.tree) else NONE,
        tables.places if tables.places.shape == (len(clients), 2) else NONE,
        tables.sketches if len(tables.sketches) == len(clients) else (),
        {int(count): number(score) for count, score in mapping(facts.get("silhouettes")).items() if count.isdigit()},
        facts.get("passed") is True,
        number(facts.get("confidence")),
    )


def tables_of(facts: Facts, clients: tuple[ClientId, ...], groups: Mapping[ClientId, int]) -> Tables:
    """From the arrays of a discovery; or as runs of fedclade 0.1.0 have them, computed already."""
    squared = matrix(facts.get("squared"))
    if "squared" not in facts:
        return tables_of_old_run(facts)
    fits = 0 < len(clients) <= MOST_CLIENTS and squared.shape == (len(clients),) * 2
    if not fits or not (np.abs(squared) < LARGEST).all():
        return Tables((), NONE, NONE, (), NONE, NONE)
    tree = matrix(facts.get("tree")) if "tree" in facts else tree_of(squared, clients)
    if tree.shape != (len(clients) - 1, 4):
        tree = NONE
    order = leaves_of(tree, clients)
    labels = np.array([groups.get(client, -1) for client in clients])
    weights = matrix(facts.get("weights"))
    adjacency = weights if weights.shape == squared.shape else np.equal.outer(labels, labels).astype(np.float64)
    places = laid_out(squared)
    if len(clients) <= MOST_ROWS:
        return Tables(order, squared, adjacency, (), tree, places, sketches_of(facts, len(clients)))
    rows, starts = bins_of(clients, labels, order)
    sizes = tuple(np.diff([*starts, len(rows)]).tolist())
    means = [bin_means(each, rows, starts) for each in (squared, adjacency)]
    return Tables(order, means[0], means[1], sizes, tree, places)


def tables_of_old_run(facts: Facts) -> Tables:
    """What a run of fedclade 0.1.0 has in its events."""
    binned = mapping(facts.get("binned"))
    return Tables(
        tuple(names(facts.get("order"))),
        table((binned or facts).get("squared_distances")),
        table((binned or facts).get("adjacency")),
        tuple(int(number(size, 0)) for size in listed(binned.get("sizes"))),
        table(facts.get("tree")),
        table(facts.get("embedding")),
        tuple(table(points) for points in listed(facts.get("sketches"))),
    )


def matrix(value: object) -> Matrix:
    """An array of an event as a matrix; empty if it is none."""
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiub":
        return NONE
    return value.astype(np.float64)


def tree_of(squared: Matrix, clients: tuple[ClientId, ...]) -> Matrix:
    """The tree of clients by their mean distances, where none was kept."""
    return average_linkage(Apart("", clients, squared.astype(np.float32), np.zeros(len(clients))))


def leaves_of(tree: Matrix, clients: tuple[ClientId, ...]) -> tuple[ClientId, ...]:
    """The clients in the order of the tree's leaves; as they came, if it is no tree."""
    from scipy.cluster.hierarchy import leaves_list

    return tuple(clients[row] for row in leaves_list(tree)) if len(clients) > 1 and is_tree(tree) else clients


def bins_of(
    clients: tuple[ClientId, ...], labels: NDArray[np.int64], order: tuple[ClientId, ...]
) -> tuple[list[int], NDArray[np.int64]]:
    """Rows group by group in the order of the leaves, and where each bin of neighbours begins."""
    leaf = {client: place for place, client in enumerate(order)}
    rows = sorted(range(len(clients)), key=lambda row: (labels[row], leaf.get(clients[row], row)))
    size = max(2, -(-len(rows) // MOST_ROWS))
    within = np.concatenate([np.arange(count) for count in np.unique(labels[rows], return_counts=True)[1]])
    return rows, np.flatnonzero(within % size == 0)


def bin_means(values: Matrix, rows: list[int], starts: NDArray[np.int64]) -> Matrix:
    """(bins, bins): the mean of each pair of bins."""
    ordered = values[np.ix_(rows, rows)]
    sizes = np.diff([*starts, len(rows)])
    sums = np.add.reduceat(np.add.reduceat(ordered, starts, axis=0), starts, axis=1)
    means: Matrix = sums / np.outer(sizes, sizes)
    return means


def sketches_of(facts: Facts, clients: int) -> tuple[Matrix, ...]:
    """Each client's points in two dimensions (or three of UMAP's), in the order of `clients`; fillers left out.

    Points that were not embedded are shown by their first two principal components.
    """
    points, counts = facts.get("points"), facts.get("counts")
    if not isinstance(points, np.ndarray) or not isinstance(counts, np.ndarray):
        return ()
    if points.ndim != 3 or len(points) != clients or counts.shape != points.shape[:2]:
        return ()
    there = counts > 0
    if points.shape[2] > MOST_FEATURES or not there.any() or not (np.abs(points) < LARGEST).all():
        return ()
    real = points[there].astype(np.float64)
    if real.shape[1] > SHOWN:
        real = real - real.mean(axis=0)
        _, vectors = np.linalg.eigh(real.T @ real)
        first = vectors[:, :-3:-1]
        real = real @ (first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])]))
    return tuple(np.split(real, np.cumsum(there.sum(axis=1))[:-1]))


def is_tree(tree: Matrix) -> bool:
    """Whether this is scipy's linkage: what cannot be drawn is not drawn."""
    from scipy.cluster.hierarchy import is_valid_linkage

    return bool(np.isfinite(tree).all()) and len(tree) > 0 and bool(is_valid_linkage(tree))
