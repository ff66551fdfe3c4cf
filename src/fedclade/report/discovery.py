"""A search for groups as plots show it, made from its facts (`fedclade.methods.flt.found_groups`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.cuts import PairDistances, average_linkage
from fedclade.clustering.scaling import classical_mds
from fedclade.core import ClientId
from fedclade.report.run_data import JsonObject, as_list, mapping, names, number, table

FloatMatrix = NDArray[np.float64]
MAX_SHOWN_DIMENSIONS = 3  # dimensions of a point that can be shown as it is
MAX_CLIENTS = 1000  # with more, distances are not shown: a map takes time with their cube
MAX_FEATURES = 4096  # of a sketch that is flattened
MAX_VALUE = 1e30  # of a distance or a point
MAX_ROWS = 200  # of a matrix: more are shown as means over bins of clients
EMPTY: FloatMatrix = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Discovery:
    """The groups that were found, and the numbers behind them."""

    clients: tuple[ClientId, ...]
    """Of the rows and columns of the matrices; none where there were too many."""
    groups: Mapping[ClientId, int]
    """The number of each client's group."""
    silhouettes: Mapping[int, float]
    """How well so many groups are separated."""
    passed: bool
    order: tuple[ClientId, ...] = ()
    """The clients in the order of the tree's leaves."""
    distances: FloatMatrix = field(default_factory=lambda: EMPTY)
    """(clients, clients), or (bins, bins): from 0."""
    adjacency: FloatMatrix = field(default_factory=lambda: EMPTY)
    """The same for which client learns from which."""
    bins: tuple[int, ...] = ()
    """How many clients each bin holds, in the order of groups and leaves; none: every row is a client."""
    tree: FloatMatrix = field(default_factory=lambda: EMPTY)
    """scipy's linkage of the clients, its heights squared."""
    places: FloatMatrix = field(default_factory=lambda: EMPTY)
    """(clients, 2): their places on a map of the distances."""
    sketches: tuple[FloatMatrix, ...] = ()
    """Each client's points; none where none were sent."""

    @property
    def row_order(self) -> list[int]:
        """The rows of the clients: group by group, each in the order of the leaves."""
        leaf = {client: place for place, client in enumerate(self.order)}
        keys = [(self.groups.get(client, -1), leaf.get(client, len(leaf))) for client in self.clients]
        return sorted(range(len(keys)), key=lambda row: keys[row])


LATEST_DISCOVERY: list[tuple[JsonObject, Discovery]] = []
"""Several plots are drawn of one discovery: it is made once."""


def discovery_of(facts: JsonObject) -> Discovery:
    """The discovery of these facts; parts that do not fit together are left out."""
    if not LATEST_DISCOVERY or LATEST_DISCOVERY[0][0] is not facts:
        LATEST_DISCOVERY[:] = [(facts, build_discovery(facts))]
    return LATEST_DISCOVERY[0][1]


def build_discovery(facts: JsonObject) -> Discovery:
    """The discovery of these facts."""
    clients = tuple(names(facts.get("clients")))
    groups = {client: index for index, members in enumerate(as_list(facts.get("groups"))) for client in names(members)}
    scores = mapping(facts.get("silhouettes")).items()
    silhouettes = {int(count): number(score) for count, score in scores if count.isdigit()}
    known = Discovery(clients, groups, silhouettes, facts.get("passed") is True)
    found = with_arrays(known, facts) if "squared" in facts else with_tables(known, facts)
    rows = len(found.bins) or len(clients)
    return replace(
        found,
        distances=found.distances if found.distances.shape == (rows, rows) else EMPTY,
        adjacency=found.adjacency if found.adjacency.shape == (rows, rows) else EMPTY,
        tree=found.tree if found.tree.shape == (len(clients) - 1, 4) and is_tree(found.tree) else EMPTY,
        places=found.places if found.places.shape == (len(clients), 2) else EMPTY,
        sketches=found.sketches if len(found.sketches) == len(clients) else (),
    )


def with_arrays(known: Discovery, facts: JsonObject) -> Discovery:
    """With all that is computed from the arrays of a discovery."""
    clients, squared = known.clients, as_matrix(facts.get("squared"))
    fits = 0 < len(clients) <= MAX_CLIENTS and squared.shape == (len(clients),) * 2
    if not fits or not (np.abs(squared) < MAX_VALUE).all():
        return known
    pairs = PairDistances("", clients, squared.astype(np.float32), np.zeros(len(clients)))
    tree = as_matrix(facts.get("tree")) if "tree" in facts else average_linkage(pairs)
    if tree.shape != (len(clients) - 1, 4):
        tree = EMPTY
    labels = np.array([known.groups.get(client, -1) for client in clients])
    weights = as_matrix(facts.get("weights"))
    adjacency = weights if weights.shape == squared.shape else np.equal.outer(labels, labels).astype(np.float64)
    found = replace(known, order=leaves_of(tree, clients), tree=tree, places=classical_mds(squared))
    if len(clients) <= MAX_ROWS:
        sketches = sketches_of(facts, len(clients))
        return replace(found, distances=square_root(squared), adjacency=adjacency, sketches=sketches)
    rows = found.row_order
    starts = bin_starts(labels[rows])
    distances, adjacency = (bin_means(each, rows, starts) for each in (squared, adjacency))
    sizes = tuple(np.diff([*starts, len(rows)]).tolist())
    return replace(found, distances=square_root(distances), adjacency=adjacency, bins=sizes)


def with_tables(known: Discovery, facts: JsonObject) -> Discovery:
    """With the tables that runs of fedclade 0.1.0 have in their events."""
    binned = mapping(facts.get("binned"))
    return replace(
        known,
        order=tuple(names(facts.get("order"))),
        distances=square_root(table((binned or facts).get("squared_distances"))),
        adjacency=table((binned or facts).get("adjacency")),
        bins=tuple(int(number(size, 0)) for size in as_list(binned.get("sizes"))),
        tree=table(facts.get("tree")),
        places=table(facts.get("embedding")),
        sketches=tuple(table(points) for points in as_list(facts.get("sketches"))),
    )


def square_root(squared: FloatMatrix) -> FloatMatrix:
    """The root of each number; 0 of one below 0."""
    root: FloatMatrix = np.sqrt(np.maximum(squared, 0))
    return root


def as_matrix(value: object) -> FloatMatrix:
    """An array of an event as a matrix; empty if it is none."""
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "fiub":
        return EMPTY
    return value.astype(np.float64)


def leaves_of(tree: FloatMatrix, clients: tuple[ClientId, ...]) -> tuple[ClientId, ...]:
    """The clients in the order of the tree's leaves; as they came, if it is no tree."""
    from scipy.cluster.hierarchy import leaves_list

    return tuple(clients[row] for row in leaves_list(tree)) if len(clients) > 1 and is_tree(tree) else clients


def bin_starts(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row at which each bin of neighbours begins, of the labels of rows that stand group by group."""
    size = max(2, -(-len(labels) // MAX_ROWS))
    within = np.concatenate([np.arange(count) for count in np.unique(labels, return_counts=True)[1]])
    return np.flatnonzero(within % size == 0)


def bin_means(values: FloatMatrix, rows: list[int], starts: NDArray[np.int64]) -> FloatMatrix:
    """(bins, bins): the mean of each pair of bins."""
    ordered = values[np.ix_(rows, rows)]
    sizes = np.diff([*starts, len(rows)])
    sums = np.add.reduceat(np.add.reduceat(ordered, starts, axis=0), starts, axis=1)
    means: FloatMatrix = sums / np.outer(sizes, sizes)
    return means


def sketches_of(facts: JsonObject, clients: int) -> tuple[FloatMatrix, ...]:
    """Each client's points in two dimensions (or three of UMAP's), in the order of `clients`; fillers left out.

    Points that were not embedded are shown by their first two principal components.
    """
    points, counts = facts.get("points"), facts.get("counts")
    if not isinstance(points, np.ndarray) or not isinstance(counts, np.ndarray):
        return ()
    if points.ndim != 3 or len(points) != clients or counts.shape != points.shape[:2]:
        return ()
    there = counts > 0
    if points.shape[2] > MAX_FEATURES or not there.any() or not (np.abs(points) < MAX_VALUE).all():
        return ()
    real = points[there].astype(np.float64)
    if real.shape[1] > MAX_SHOWN_DIMENSIONS:
        real = real - real.mean(axis=0)
        _, vectors = np.linalg.eigh(real.T @ real)
        first = vectors[:, :-3:-1]
        real = real @ (first * np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])]))
    return tuple(np.split(real, np.cumsum(there.sum(axis=1))[:-1]))


def is_tree(tree: FloatMatrix) -> bool:
    """Whether this is scipy's linkage: what cannot be drawn is not drawn."""
    from scipy.cluster.hierarchy import is_valid_linkage

    return bool(np.isfinite(tree).all()) and len(tree) > 0 and bool(is_valid_linkage(tree))
