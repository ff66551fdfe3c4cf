"""The signature by an encoder: k points stand for each client's data (the paper). Sees features, not labels.

Algorithm 2: clients run their examples through an encoder, fine-tuned or not, and send k centres of what comes out. The
server embeds all points by UMAP or leaves them as they are; a distance between sets of points makes a matrix; then
groups are cut out of it:

average      average linkage, the number of groups by a silhouette, as for class moments
ward         clients closer than gamma are related; Ward's tree of the rows of that 0/1 matrix is cut (the paper)
components   clients closer than gamma are related, and so are their relatives (the published code, which cuts nothing)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from fedclade.clustering.cuts import NOISE, Cut, GroupTable, PairDistances, best_cut, separation_of
from fedclade.clustering.point_distances import POINT_DISTANCES, PointDistance, nearest_distances_between
from fedclade.core import (
    Assignment,
    ClientId,
    Groups,
    InputError,
    LocalTraining,
    Points,
    Round,
    Row,
    generator,
    settings,
)
from fedclade.core.points import concatenate_points, pad_points
from fedclade.fleet import Fleet, Sketching
from fedclade.methods.flt.embedding import (
    UmapStart,
    add_to_layout,
    can_embed,
    embed_points,
    require_umap,
    start_warm_up,
)
from fedclade.methods.flt.found_groups import (
    ClientSummaries,
    FoundGroups,
    GroupSearch,
    SketchedClients,
    describe_groups,
    groups_by_landmarks,
    one_group_and_outliers,
)
from fedclade.methods.flt.training import automatic_reach
from fedclade.methods.needs import Needs, no_check

MIN_SEPARATION, MIN_SEPARATION_UMAP = 0.35, 0.5  # what groups need, of points as sent and of embedded ones: UMAP parts
MAX_MEMBERS = 20  # members of each group that newcomers are compared with
LONE_GROUP_FACTOR = 1.5  # where there is no other group: so many times as far as its farthest member


@settings
class Encoder:
    """Clients send a few points of their encoded examples. Sees features only."""

    kind: Literal["encoder"] = "encoder"
    """In TOML it says which signature this is."""
    name: str = "fashion-mnist"
    """The encoder's name, or its file."""
    points: Annotated[int, Field(ge=1, le=1000)] | Literal["classes"] = 5
    """How many points a client sends (k); `classes`: as many as it has labels, which section 4.1 allows."""
    own_tuning_epochs: Annotated[int, Field(ge=0, le=1000)] = 0
    """Epochs in which every client fine-tunes the encoder for itself (J); 0: none."""
    joint_tuning_rounds: Annotated[int, Field(ge=0, le=1000)] = 0
    """Rounds of one epoch in which all clients fine-tune it together, by FedAvg; 0: none."""
    umap_dimensions: Literal[0, 2, 3] = 0
    """Of UMAP's embedding of all points, on the server; 0: points stay as they were sent."""
    umap_start: UmapStart = "pca"
    """Where UMAP begins: at principal components, or at a spectral layout of the points' neighbours (its code)."""
    umap_newcomers: Literal["as-sent", "transform"] = "as-sent"
    """Newcomers are compared by points as they were sent, or where UMAP's `transform` puts them among the others."""
    distance: PointDistance = "nearest"
    """Between sets of points: mean of nearest both ways, smallest (the paper), or matched (its code)."""
    cut: Literal["average", "ward", "components"] = "average"
    """How distances become groups: average linkage, Ward's tree of what is near (the paper), components (its code)."""

    @model_validator(mode="after")
    def check_combinations(self) -> Self:
        for name, value, idle in (
            ("umap_start", self.umap_start, "pca"),
            ("umap_newcomers", self.umap_newcomers, "as-sent"),
        ):
            if value != idle and not self.umap_dimensions:
                raise InputError(
                    f"{name} does nothing",
                    where=f"Encoder.{name}",
                    got=f'"{value}" without UMAP',
                    need="umap_dimensions of 2 or 3",
                    do=f"set them, or leave {name} out",
                )
        return self

    def needs(self) -> Needs:
        tunes = bool(self.own_tuning_epochs or self.joint_tuning_rounds)
        return Needs(encoder=self.name, tunes_encoder=tunes, check=check_umap if self.umap_dimensions else no_check)

    def without_tuning(self) -> "Encoder":
        """The same with the encoder as it is."""
        return replace(self, own_tuning_epochs=0, joint_tuning_rounds=0)

    def prepare(self, fleet: Fleet, now: Round, latest: Row | None = None) -> Row:
        """The weights that clients will be sent, after the clients' joint fine-tuning if there is any.

        It starts from the latest weights, or from the encoder's own.
        """
        if self.umap_dimensions:
            require_umap()
            start_warm_up()  # while clients work
        weights = fleet.weights(self.name) if latest is None else latest
        one_epoch = replace(now, local=replace(now.local, epochs=1))
        for number in range(self.joint_tuning_rounds):  # FedAvg of the autoencoder
            start = Assignment.of_one(weights, fleet.clients())
            seed = int(now.generator(f"tuning {number}").integers(2**31))  # other batches in every epoch
            weights = fleet.train_mean(start, replace(one_epoch, seed=seed), self.name).rows[0]
        return weights

    def ask(self, fleet: Fleet, clients: Sequence[ClientId], now: Round, weights: Row) -> SketchedClients:
        """The points of those of these clients that answer."""
        count = 0 if self.points == "classes" else self.points
        sketching = Sketching(self.name, count, weights, self.own_tuning_epochs)
        sketches = fleet.sketch(clients, sketching, now)
        return SketchedClients(pad_points(sketches.points, sketches.counts), sketches.tokens)

    def find_groups(self, summaries: ClientSummaries, search: GroupSearch) -> FoundGroups:
        """Algorithm 2, on the server."""
        assert isinstance(summaries, Points)
        return groups_of_points(summaries, self, search)

    def places(self, found: FoundGroups, summaries: ClientSummaries) -> "PointPlaces | EmbeddedPlaces":
        """Where these groups are, for newcomers."""
        assert isinstance(summaries, Points)
        sent, layout = point_places(summaries, found.partition.members), found.sketches
        if self.umap_newcomers == "as-sent" or layout is None or not can_embed(layout, self.umap_dimensions):
            return sent
        groups = np.array([found.partition.labels[client] for client in layout.clients], np.int64)
        return EmbeddedPlaces(sent, summaries.of(layout.clients), layout, groups)


def check_umap(_layers: Sequence[int], _local: LocalTraining) -> None:
    """An error unless UMAP is installed."""
    require_umap()


def groups_of_points(points: Points, how: Encoder, search: GroupSearch | None = None) -> FoundGroups:
    """The groups of these clients."""
    search = search or GroupSearch()
    if not points.clients:
        raise InputError("there is no client to compare", need="the points of at least one")
    if len(points.clients) > search.max_compared:
        return groups_by_landmarks(
            points,
            search,
            lambda some, wanted: groups_of_points(some, how, wanted),
            lambda found, some: point_places(some, found.partition.members),
        )
    ordered = points.of(sorted(points.clients))
    sketches = ordered
    if how.umap_dimensions:
        sketches = embed_points(ordered, how.umap_dimensions, search.seed, how.umap_start)
    distances = point_distances(how.distance, sketches)
    cut = best_cut(distances, search.max_groups, search.groups)
    needed = search.min_separation or (MIN_SEPARATION_UMAP if how.umap_dimensions else MIN_SEPARATION)
    if how.cut != "average" and len(ordered.clients) > 2:
        proposed = choose_groups(cut, needed, search.groups, distances)[0]
        reach = search.gamma**2 if search.gamma else automatic_reach(distances.squared, distances.clients, proposed)
        near = (distances.squared < reach) | np.eye(len(distances.clients), dtype=bool)
        if how.cut == "ward":
            cut = cut_ward(distances, near, search)
        else:
            cut, needed = cut_components(distances, near, cut), 0.0
    partition, has_groups = choose_groups(cut, needed, search.groups, distances)
    found = describe_groups(partition, distances, cut, {how.distance: cut.separation}, has_groups)
    return replace(found, sketches=sketches)


def point_distances(distance: PointDistance, points: Points) -> PairDistances:
    """Squared distances, as a cut takes them: what sampling adds to them is not known."""
    values = POINT_DISTANCES[distance](points)
    return PairDistances(distance, points.clients, values**2, np.zeros(len(values)))


def choose_groups(cut: Cut, min_separation: float, groups: int, distances: PairDistances) -> tuple[Groups, bool]:
    """The groups of a cut that separates enough, else one group and outliers; and whether it does."""
    enough = groups > 1 or (not groups and len(cut.groups) > 1 and cut.separation >= min_separation)
    return cut.groups if enough or groups else one_group_and_outliers(distances), enough


def cut_ward(distances: PairDistances, near: NDArray[np.bool_], search: GroupSearch) -> Cut:
    """The best cut of Ward's tree of the rows of A, by the distances; below a given `gamma` all are equally near.

    Distances between the 0/1 rows would not do: equal rows are at distance 0, and every set of them would be a group.
    """
    from scipy.cluster.hierarchy import linkage

    tree = linkage(near.astype(np.float64), "ward")
    floor = np.full(len(near), search.gamma**2 / (2 * NOISE))  # of two clients: gamma squared
    cut = best_cut(replace(distances, noise=floor), search.max_groups, search.groups, tree)
    return with_separation(cut, distances)


def with_separation(cut: Cut, distances: PairDistances) -> Cut:
    """A cut with how well its groups separate by these distances."""
    labels = np.array([cut.groups.labels[client] for client in distances.clients], np.int64)
    silhouettes = GroupTable.of(distances, labels).silhouettes(labels)
    separation = max(separation_of(silhouettes, labels), 0.0) if len(cut.groups) > 1 else 0.0
    return replace(cut, separation=separation)


def cut_components(distances: PairDistances, near: NDArray[np.bool_], tree: Cut) -> Cut:
    """Each client with its relatives and theirs."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    labels = connected_components(csr_matrix(near), directed=False)[1]
    groups = Groups.from_labels(dict(zip(distances.clients, labels.tolist(), strict=True)))
    return with_separation(replace(tree, groups=groups), distances)


@dataclass(frozen=True, eq=False)
class PointPlaces:
    """Some members of each group, and how far each reaches: newcomers are compared by points as they were sent."""

    members: Points
    group_of_member: NDArray[np.int64]
    """(members,): the group of each."""
    reach: NDArray[np.float64]
    """(groups,): the mean distance to its members up to which a client belongs there."""

    @property
    def group_count(self) -> int:
        return len(self.reach)

    def nearest(self, newcomers: ClientSummaries) -> dict[ClientId, int | None]:
        assert isinstance(newcomers, Points)
        if not newcomers.clients:
            return {}
        far = distances_to_groups(newcomers, self.members, self.group_of_member, self.group_count)
        near = far.argmin(axis=1)
        belongs = far[np.arange(len(near)), near] <= self.reach[near]
        return {
            client: int(group) if fits else None
            for client, group, fits in zip(newcomers.clients, near, belongs, strict=True)
        }

    def within_reach(self, newcomers: Points) -> list[ClientId]:
        """Those that belong to a group by its reach, be it the nearest or not."""
        far = distances_to_groups(newcomers, self.members, self.group_of_member, self.group_count)
        return [client for client, row in zip(newcomers.clients, far, strict=True) if (row <= self.reach).any()]

    def with_group(self, one: ClientSummaries) -> "PointPlaces":
        """One group more, of this client alone; it reaches as far as the shortest of the others, or half of the way."""
        assert isinstance(one, Points)
        others = self.members.of(client for client in self.members.clients if client not in one.clients)
        group = dict(zip(self.members.clients, self.group_of_member.tolist(), strict=True))
        numbers = [group[client] for client in others.clients] + [self.group_count]
        half = float(distances_to_groups(one, self.members, self.group_of_member, self.group_count).min()) / 2
        reach = self.reach[self.reach > 0].min(initial=half)
        members = concatenate_points(others, one)
        return PointPlaces(members, np.array(numbers, np.int64), np.append(self.reach, reach))

    def without_limits(self) -> "PointPlaces":
        return replace(self, reach=np.full(len(self.reach), np.inf))


@dataclass(frozen=True, eq=False)
class EmbeddedPlaces:
    """Groups in UMAP's layout: a newcomer goes where its points come to lie among those of the clients that were there.

    UMAP puts any point beside some other. So points as they were sent tell who is unlike all groups, and who belongs to
    one that began later, which the layout does not have.
    """

    sent: PointPlaces
    points: Points
    """The points of all clients of the layout, as they were sent."""
    layout: Points
    """Where UMAP put them."""
    groups: NDArray[np.int64]
    """(clients of the layout,): the group of each."""

    @property
    def group_count(self) -> int:
        return self.sent.group_count

    def nearest(self, newcomers: ClientSummaries) -> dict[ClientId, int | None]:
        assert isinstance(newcomers, Points)
        if not newcomers.clients:
            return {}
        found, count = self.sent.nearest(newcomers), int(self.groups.max()) + 1
        began_later = {client for client, group in found.items() if group is not None and group >= count}
        known = [client for client in self.sent.within_reach(newcomers) if client not in began_later]
        if known:
            embedded = add_to_layout(newcomers.of(known), self.points, self.layout)
            far = distances_to_groups(embedded, self.layout, self.groups, count)
            found |= dict(zip(known, far.argmin(axis=1).tolist(), strict=True))
        return found

    def with_group(self, one: ClientSummaries) -> "EmbeddedPlaces":
        return replace(self, sent=self.sent.with_group(one))

    def without_limits(self) -> "EmbeddedPlaces":
        return replace(self, sent=self.sent.without_limits())


def point_places(points: Points, groups: Sequence[Sequence[ClientId]]) -> PointPlaces:
    """Where these groups are, from the points of their members.

    A group reaches to its farthest member, or half of the way from where its members are to the next group.
    """
    there = set(points.clients)
    kept: list[ClientId] = []
    numbers: list[int] = []
    for number, group in enumerate(groups):
        inside = sorted(set(group) & there)
        drawn = generator(number, "members kept").permutation(len(inside))[:MAX_MEMBERS]
        kept += [inside[place] for place in sorted(drawn)]
        numbers += [number] * len(drawn)
    members, group_of_member = points.of(kept), np.array(numbers, np.int64)
    labels = {client: number for number, group in enumerate(groups) for client in group}
    own = np.array([labels[client] for client in points.clients])
    far = distances_to_groups(points, members, group_of_member, len(groups))
    inside = far[np.arange(len(own)), own]
    reach = np.zeros(len(groups))
    for number in range(len(groups)):
        mine = inside[(own == number) & np.isfinite(inside)]
        middle, farthest = (float(mine.mean()), float(mine.max())) if len(mine) else (0.0, 0.0)
        others = far[own == number][:, np.arange(len(groups)) != number]
        others = others[np.isfinite(others)]
        alone = LONE_GROUP_FACTOR * farthest
        reach[number] = max((middle + float(others.min())) / 2, farthest) if len(others) else alone
    return PointPlaces(members, group_of_member, reach)


def distances_to_groups(
    points: Points, members: Points, group_of_member: NDArray[np.int64], groups: int
) -> NDArray[np.float64]:
    """(clients, groups): the mean distance to a group's members, the client itself left out; infinite without any."""
    table = nearest_distances_between(points, members).astype(np.float64)
    counted = np.not_equal.outer(np.array(points.clients), np.array(members.clients)).astype(np.float64)
    inside = np.eye(groups)[group_of_member]
    sums, pairs = (table * counted) @ inside, counted @ inside
    means: NDArray[np.float64] = np.divide(sums, pairs, out=np.full_like(sums, np.inf), where=pairs > 0)
    return means
