"""Which clients belong together, from the points that stand for their data: FLT's Algorithm 2 on the server.

Points are embedded by UMAP or left as they are; a distance between sets of points makes a matrix; then it is cut:

average      average linkage, the number of groups by a silhouette with a gate, as for class moments
ward         near clients (closer than gamma) are related; Ward's tree of the rows of that 0/1 matrix is cut (the paper)
components   near clients are related, and so are their relatives (the published code, which cuts nothing)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Groups, InputError, Points, generator
from fedclade.relate.cut import MOST, Cut, best_cut, gate_of
from fedclade.relate.cut import GroupTable as Table
from fedclade.relate.discovery import LANDMARKS, Found, found, without_strays
from fedclade.relate.distances import least, nearest
from fedclade.relate.embedding import embedded
from fedclade.relate.graph import automatic_reach
from fedclade.relate.matching import assigned
from fedclade.relate.moments import Apart
from fedclade.relate.places import AT_ONCE
from fedclade.relate.point_places import point_atlas

Distance = Literal["nearest", "smallest", "matched"]
CutRule = Literal["average", "ward", "components"]
DISTANCES: dict[Distance, Callable[[Points], NDArray[np.float32]]] = {
    "nearest": nearest,
    "smallest": least,
    "matched": assigned,
}
GATE, GATE_UMAP = 0.35, 0.5  # what passes, of points as they are and of embedded ones, which UMAP pulls apart


@dataclass(frozen=True, kw_only=True)
class Relating:
    """How points become groups."""

    distance: Distance = "nearest"
    cut: CutRule = "average"
    dimensions: int = 0
    """Of UMAP's embedding; 0: none."""
    gamma: float = 0.0
    """The distance up to which clients are related; 0: found from the groups that average linkage proposes."""
    gate: float = 0.0
    """How far groups must stand apart; 0: as much as points need, embedded or not."""
    most: int = MOST
    groups: int = 0
    """How many there are; 0: found."""
    seed: int = 0


def related(points: Points, how: Relating, landmarks: int = LANDMARKS) -> Found:
    """The groups of these clients. Of more than `landmarks`, so many are compared, and the rest is placed."""
    if not points.clients:
        raise InputError("there is nobody to compare", need="the points of at least one client")
    if len(points.clients) > landmarks:
        return by_landmarks(points, how, landmarks)
    ordered = points.of(sorted(points.clients))
    placed = embedded(ordered, how.dimensions, how.seed) if how.dimensions else ordered
    apart = apart_by(how.distance, placed)
    cut = best_cut(apart, how.most, how.groups)
    gate = how.gate or (GATE_UMAP if how.dimensions else GATE)
    if how.cut != "average" and len(ordered.clients) > 2:
        proposed = chosen(cut, gate, how.groups, apart)[0]
        reach = how.gamma**2 if how.gamma else automatic_reach(apart.squared, apart.clients, proposed)
        near = (apart.squared < reach) | np.eye(len(apart.clients), dtype=bool)
        cut = by_rows(apart, near, how) if how.cut == "ward" else by_components(apart, near, cut)
        gate = 0.0 if how.cut == "components" else gate
    partition, passed = chosen(cut, gate, how.groups, apart)
    return replace(found(partition, apart, cut, {how.distance: cut.gate}, passed), sketches=placed)


def by_landmarks(points: Points, how: Relating, landmarks: int) -> Found:
    """The groups of some clients, drawn by their number alone; everybody else with the nearest of them, or alone."""
    ordered = sorted(points.clients)
    drawn = generator(len(ordered), "landmarks").choice(len(ordered), landmarks, replace=False)
    few = points.of(ordered[number] for number in np.sort(drawn))
    among = related(few, how, landmarks)
    places = point_atlas(few, among.partition.members)
    if how.groups:  # as many as were asked for: nobody begins one more
        places = replace(places, reaches=np.full(places.groups, np.inf))
    labels = dict(among.partition.labels)
    rest = [client for client in ordered if client not in labels]
    for start in range(0, len(rest), AT_ONCE):
        for client, near in places.nearest(points.of(rest[start : start + AT_ONCE])).items():
            labels[client] = len(among.partition) + len(labels) if near is None else near
    return replace(among, partition=Groups.from_labels(labels))


def apart_by(distance: Distance, points: Points) -> Apart:
    """Squared distances, as a cut takes them: what sampling adds to them is not known."""
    values = DISTANCES[distance](points)
    return Apart(distance, points.clients, values**2, np.zeros(len(values)))


def chosen(cut: Cut, gate: float, groups: int, apart: Apart) -> tuple[Groups, bool]:
    """The groups of a cut that passes, else one group without strays; and whether it passed."""
    passed = groups > 1 or (not groups and len(cut.groups) > 1 and cut.gate >= gate)
    return cut.groups if passed or groups else without_strays(apart), passed


def by_rows(apart: Apart, near: NDArray[np.bool_], how: Relating) -> Cut:
    """Ward's tree of the rows of A, and the best of its cuts by the distances between these rows."""
    from scipy.cluster.hierarchy import linkage

    rows = near.astype(np.float32)
    common = rows @ rows.T
    squared = np.add.outer(common.diagonal(), common.diagonal()) - 2 * common
    among = replace(apart, squared=squared.astype(np.float32))
    return best_cut(among, how.most, how.groups, linkage(rows.astype(np.float64), "ward"))


def by_components(apart: Apart, near: NDArray[np.bool_], tree: Cut) -> Cut:
    """Everybody with its relatives and theirs."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    labels = connected_components(csr_matrix(near), directed=False)[1].astype(np.int64)
    each = Table.of(apart, labels).silhouettes(labels)
    groups = Groups.from_labels(dict(zip(apart.clients, labels.tolist(), strict=True)))
    return replace(tree, groups=groups, gate=max(gate_of(each, labels), 0.0) if len(groups) > 1 else 0.0)
