"""The groups that FLT finds, whatever its signature: what was found, how sure it is, and where newcomers belong.

A signature (`class_moments`, `encoder`) compares the clients and proposes cuts of a tree; here a cut becomes an answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.cuts import MAX_GROUPS, NOISE, Cut, PairDistances
from fedclade.core import ClientId, Groups, Moments, Points, Row, generator
from fedclade.core.facts import Fact
from fedclade.core.html import html_table, name_list
from fedclade.methods.flt.training import Graph

ClientSummaries = Moments | Points
"""What clients tell of their data: class moments, or points."""
SummariesT = TypeVar("SummariesT", Moments, Points)

NO_WEIGHTS: Row = np.zeros(0, np.float32)  # of a signature that sends clients no encoder
MAX_COMPARED = 10_000  # clients that are compared with each other; memory and time grow with their square
CLIENTS_AT_ONCE = 2_000  # clients that are placed at once
OUTLIER_FACTOR = 4.0  # an outlier is so many times as far from the others as two of them usually are
MAX_STORED_DISTANCES = 1000  # clients whose distances become facts: 10,000 would have 400 MB of them
MAX_STORED_SKETCHES = 200  # clients whose sketches become facts


@dataclass(frozen=True, eq=False)
class SketchedClients:
    """What the clients that answered sent of their data, and the tokens by which they know these data again."""

    summaries: ClientSummaries
    tokens: Mapping[ClientId, int]


@dataclass(frozen=True, kw_only=True)
class GroupSearch:
    """What is asked of a search for groups."""

    min_separation: float = 0.0
    """How far groups must stand apart, 0 to 1; 0: the signature's own value."""
    max_groups: int = MAX_GROUPS
    groups: int = 0
    """How many groups there are; 0: the search finds out."""
    gamma: float = 0.0
    """The distance up to which two clients are related; 0: from the groups that average linkage proposes."""
    seed: int = 0
    """Of UMAP."""
    max_compared: int = MAX_COMPARED
    """Of more clients, so many are compared with each other, and the rest is placed."""


@dataclass(frozen=True, eq=False)
class FoundGroups:
    """The groups that were found, and the numbers behind them."""

    partition: Groups
    """All clients; an outlier is a group of its own."""
    distance: str
    """The distance that separates best."""
    separations: dict[str, float]
    """For each distance, how well its best cut separates: -1 to 1."""
    has_groups: bool
    """Whether that was enough to say that there are groups."""
    silhouettes: dict[int, float]
    """The mean silhouette for each number of groups, outliers counted."""
    clients: tuple[ClientId, ...]
    """The clients of the rows and columns of the distances."""
    squared: NDArray[np.float32]
    """(clients, clients): unbiased squared distances; about 0 for clients that are alike, and sometimes below."""
    tree: NDArray[np.float64]
    """scipy's linkage of these clients."""
    order: tuple[ClientId, ...]
    """The clients in the order of the tree's leaves."""
    sketches: Points | None = None
    """The points behind the distances, as they were sent or embedded; None for class moments."""

    @property
    def groups(self) -> tuple[tuple[ClientId, ...], ...]:
        """The groups without outliers; a single client is a group if there is no other."""
        large = tuple(members for members in self.partition.members if len(members) > 1)
        return large or self.partition.members

    @property
    def outliers(self) -> tuple[ClientId, ...]:
        """Clients that are like no other."""
        inside = {client for members in self.groups for client in members}
        return tuple(client for client in self.partition.clients if client not in inside)

    @property
    def count(self) -> int:
        """The number of groups without outliers."""
        return len(self.groups)

    @property
    def confidence(self) -> float:
        """From 0 to 1: the best separation if groups were found, else its distance from 1.

        0 where nothing could be judged: fewer than three clients, none that can be compared, or one group asked for.
        """
        if not self.silhouettes:
            return 0.0
        best = min(max(self.separations.values(), default=0.0), 1.0)
        return best if self.has_groups else 1 - max(best, 0.0)

    def _repr_html_(self) -> str:
        rows = [(str(number), str(len(group)), name_list(group)) for number, group in enumerate(self.groups)]
        rows += [("alone", str(len(self.outliers)), name_list(self.outliers))] if self.outliers else []
        return html_table(
            f"{self.count} groups, confidence {self.confidence:.2f}", ("group", "clients", "members"), rows
        )

    def __repr__(self) -> str:
        sizes = name_list([str(len(members)) for members in self.groups])
        outliers = f"{len(self.outliers)} outliers"
        return f"FoundGroups({self.count} groups of {sizes} clients, {outliers}, {self.confidence:.2f})"


def describe_groups(
    partition: Groups, distances: PairDistances, cut: Cut, separations: dict[str, float], has_groups: bool
) -> FoundGroups:
    """The answer of a partition, with the numbers of one distance and its cut."""
    return FoundGroups(
        partition,
        distances.kind,
        separations,
        has_groups,
        cut.silhouettes,
        distances.clients,
        distances.squared,
        cut.tree,
        cut.order,
    )


def one_group_and_outliers(distances: PairDistances) -> Groups:
    """One group, and each client that is far from most of the others as a group of its own."""
    if len(distances.clients) < 4:
        return Groups((distances.clients,))
    usual = np.full(len(distances.clients), np.inf)  # a client that can be compared with no other is far
    for row, squared in enumerate(distances.squared):
        others = np.arange(len(usual)) != row
        if distances.comparable is not None:
            others &= distances.comparable[row]
        if others.any():
            floor = NOISE * (distances.noise[row] + distances.noise[others])
            usual[row] = np.median(np.maximum(squared[others], floor))
    far = usual > OUTLIER_FACTOR**2 * np.median(usual)
    labels = {client: number + 1 if far[number] else 0 for number, client in enumerate(distances.clients)}
    return Groups.from_labels(labels)


class GroupPlaces(Protocol):
    """Where groups are, so that a newcomer can be put into the nearest."""

    @property
    def group_count(self) -> int: ...

    def nearest(self, newcomers: ClientSummaries) -> dict[ClientId, int | None]:
        """The nearest group of each newcomer, as its number; None: unlike all of them."""
        ...

    def with_group(self, one: ClientSummaries) -> Self:
        """One group more, of this client alone."""
        ...

    def without_limits(self) -> Self:
        """The same groups, which reach as far as one likes: no newcomer is unlike all of them."""
        ...


PlacesT = TypeVar("PlacesT", bound=GroupPlaces)


def assign_groups(
    places: PlacesT, summaries: ClientSummaries, *, outliers_begin_groups: bool
) -> tuple[PlacesT, dict[ClientId, int | None]]:
    """The nearest group of each client, one after the other: an outlier may begin one, for others to join."""
    found: dict[ClientId, int | None] = {}
    while summaries.clients:
        near = places.nearest(summaries)
        outliers = [number for number, client in enumerate(summaries.clients) if near[client] is None]
        stop = outliers[0] if outliers and outliers_begin_groups else len(summaries.clients)
        found |= {client: near[client] for client in summaries.clients[:stop]}
        for client in summaries.clients[stop : stop + 1]:
            found[client] = places.group_count
            places = places.with_group(summaries.of([client]))
        summaries = summaries.of(summaries.clients[stop + 1 :])
    return places, found


def groups_by_landmarks(
    summaries: SummariesT,
    search: GroupSearch,
    find: Callable[[SummariesT, GroupSearch], FoundGroups],
    places_of: Callable[[FoundGroups, SummariesT], GroupPlaces],
) -> FoundGroups:
    """The groups of some clients, drawn by their number alone, and each of the rest in the nearest of them.

    A client unlike all groups is an outlier. The numbers are those of the clients that were compared.
    """
    ordered = sorted(summaries.clients)
    drawn = generator(len(ordered), "landmarks").choice(len(ordered), search.max_compared, replace=False)
    landmarks = summaries.of(ordered[number] for number in np.sort(drawn))
    found = find(landmarks, search)
    places = places_of(found, landmarks)
    if search.groups:  # as many as were asked for: nobody begins one more
        places = places.without_limits()
    labels = dict(found.partition.labels)
    rest = [client for client in ordered if client not in labels]
    for start in range(0, len(rest), CLIENTS_AT_ONCE):
        for client, near in places.nearest(summaries.of(rest[start : start + CLIENTS_AT_ONCE])).items():
            labels[client] = len(found.partition) + len(labels) if near is None else near
    return replace(found, partition=Groups.from_labels(labels))


def discovery_facts(found: FoundGroups, graph: Graph | None = None) -> dict[str, Fact]:
    """Groups, how sure they are, and for up to 1,000 clients the distances behind them, as facts of a run.

    squared         (clients, clients): squared distances
    tree            scipy's linkage of them, unless clients were left out
    weights         (clients, clients): how much each learns from each, where a graph says so
    points, counts  (clients, points, features), (clients, points): the sketches of up to 200 clients, if there are any
    """
    facts: dict[str, Fact] = {
        "distance": found.distance,
        "gates": {kind: round(separation, 4) for kind, separation in found.separations.items()},
        "passed": found.has_groups,
        "confidence": round(found.confidence, 4),
        "count": found.count,
        "sizes": [len(members) for members in found.groups],
        "outliers": list(found.outliers),
        "silhouettes": {str(count): round(score, 4) for count, score in found.silhouettes.items()},
    }
    if len(found.clients) != len(found.squared):  # nothing was kept
        return facts
    rows = stored_rows(found)
    clients = [found.clients[row] for row in rows]
    shown = set(clients)
    facts |= {
        "clients": list[Fact](clients),
        "groups": [[client for client in members if client in shown] for members in found.partition.members],
        "squared": found.squared[np.ix_(rows, rows)],
    }
    if len(rows) == len(found.clients):
        facts["tree"] = found.tree
        if found.sketches is not None and len(rows) <= MAX_STORED_SKETCHES:
            facts |= {"points": found.sketches.places, "counts": found.sketches.counts}
    if graph is not None:
        facts["weights"] = graph.weights_between(clients)
    return facts


def stored_rows(found: FoundGroups) -> NDArray[np.int64]:
    """The clients whose distances become facts: all, or every so many-th in the order of the tree."""
    everybody = np.arange(len(found.clients))
    if len(everybody) <= MAX_STORED_DISTANCES:
        return everybody
    row = {client: number for number, client in enumerate(found.clients)}
    drawn = np.unique(np.linspace(0, len(found.order) - 1, MAX_STORED_DISTANCES).round().astype(int))
    return np.sort([row[found.order[place]] for place in drawn])
