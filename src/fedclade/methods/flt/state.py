"""What FLT remembers: the models, which client belongs where, and what groups look like. It never asks a client."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fedclade.core import Assignment, ClientId, Row
from fedclade.methods.flt.class_moments import MomentPlaces
from fedclade.methods.flt.encoder import EmbeddedPlaces, PointPlaces
from fedclade.methods.flt.found_groups import NO_WEIGHTS, FoundGroups, SketchedClients, assign_groups
from fedclade.methods.flt.training import Graph

OVERALL_ROW = 0  # of the model of all: that of outliers, and of clients that have no signature yet
NO_GROUP = -1  # the group of a client that is unlike all groups and has the model of all


@dataclass(frozen=True, eq=False)
class FLTState:
    """The state of FLT."""

    models: Assignment
    """Row 0 is the model of all; then one for each group, or for each distinct row of A."""
    group_by_client: dict[ClientId, int]
    """A client that is not in it has not sent its signature yet."""
    tokens: dict[ClientId, int]
    """What each client said of its data, to be asked whether they have changed."""
    last_flag: dict[ClientId, int]
    """The round in which each client last said that its data have changed."""
    places: MomentPlaces | PointPlaces | EmbeddedPlaces | None = None
    """Where groups are; None: no client has sent its signature yet."""
    graph: Graph | None = None
    """Case I: who learns from whom."""
    moved: tuple[ClientId, ...] = ()
    """Clients whose signature no longer fits their group."""
    last_clustering: int = 0
    """The round of the last clustering."""
    encoder: Row = field(default_factory=NO_WEIGHTS.copy)
    """The weights of the encoder that clients are sent; none for class moments."""

    def active(self, clients: Sequence[ClientId]) -> list[ClientId]:
        """Those of these clients that take part in training: they have a group."""
        return [client for client in clients if self.group_by_client.get(client, NO_GROUP) != NO_GROUP]

    def regroup(
        self, found: FoundGroups, graph: Graph | None, places: MomentPlaces | PointPlaces | EmbeddedPlaces, number: int
    ) -> "FLTState":
        """Every client in the group that was found now; one that did not answer goes with most of its old group."""
        group = {**groups_of_absent(self.group_by_client, found.partition.labels), **found.partition.labels}
        if graph is not None:
            rest = {client: group[client] for client in sorted(set(group) - set(found.clients))}
            graph = graph.with_clients(rest, dict(enumerate(found.partition.members)))
        state = replace(self, group_by_client=group, graph=graph, places=places, moved=(), last_clustering=number)
        return replace(state, models=inherit_models(self.models, state.rows()))

    def rows(self) -> dict[ClientId, int]:
        """The row of every client: of its group, or of its row of A; that of all for a client that has neither."""
        known = self.group_by_client if self.graph is None else self.graph.row_by_client
        return {client: known.get(client, NO_GROUP) + 1 for client in self.models.row_by_client}

    def place_clients(self, sketched: SketchedClients, *, outliers_begin_groups: bool) -> "FLTState":
        """More clients where they belong: in the nearest group, in one of their own, or with the model of all."""
        assert self.places is not None
        places, near = assign_groups(self.places, sketched.summaries, outliers_begin_groups=outliers_begin_groups)
        placed = {client: group for client, group in near.items() if group is not None}
        members = {number: self.members(number) for number in set(placed.values())}
        group = {**self.group_by_client, **{client: placed.get(client, NO_GROUP) for client in near}}
        graph = None if self.graph is None else self.graph.with_clients(placed, members)
        usual = {number: most_common_row(self.models, there) for number, there in members.items()}
        rows = {client: usual[placed[client]] if client in placed else OVERALL_ROW for client in near}
        before = self.models.with_clients(rows)
        state = replace(self, places=places, group_by_client=group, graph=graph, models=before)
        return replace(state, models=inherit_models(before, state.rows())).with_tokens(sketched.tokens)

    def members(self, number: int) -> list[ClientId]:
        """The clients of this group."""
        return [client for client, group in self.group_by_client.items() if group == number]

    def update_moved(self, sketched: SketchedClients) -> "FLTState":
        """After new signatures of these clients: those whose data are others now and no longer fit their group."""
        assert self.places is not None
        groups, tokens = self.places.nearest(sketched.summaries), sketched.tokens
        near = {client: NO_GROUP if group is None else group for client, group in groups.items()}
        other = {client for client in near if client in self.moved or tokens[client] != self.tokens.get(client)}
        moved = {client for client in other if near[client] != self.group_by_client.get(client, near[client])}
        moved |= {client for client in near if self.group_by_client.get(client) == NO_GROUP}  # until it has a group
        return replace(self, moved=tuple(sorted(set(self.moved) - set(near) | moved))).with_tokens(tokens)

    def without_absent(self, clients: Sequence[ClientId]) -> "FLTState":
        """The same where only these clients are there: one that has left has not moved."""
        return replace(self, moved=tuple(client for client in self.moved if client in set(clients)))

    def with_tokens(self, tokens: Mapping[ClientId, int]) -> "FLTState":
        """With what clients last said of their data."""
        return replace(self, tokens={**self.tokens, **tokens})

    def with_overall(self) -> "FLTState":
        """With the model of all made anew, if a client has it."""
        if OVERALL_ROW not in self.models.row_by_client.values():
            return self
        return replace(self, models=self.models.with_model(OVERALL_ROW, overall_model(self.models)))


def overall_model(models: Assignment) -> Row:
    """The model of all: the mean of the others, each as often as clients have it; row 0 if no client has another."""
    sizes = np.bincount(list(models.row_by_client.values()), minlength=models.model_count).astype(np.float64)
    sizes[OVERALL_ROW] = 0
    if not sizes.any():
        same: Row = models.models([OVERALL_ROW])[0]
        return same
    return models.mean(sizes / sizes.sum())


def inherit_models(models: Assignment, new_rows: Mapping[ClientId, int]) -> Assignment:
    """These clients at these new rows: each row goes on from the model that most of its clients have had.

    Of equals the first. Row 0 stays what it is.
    """
    before: dict[int, Counter[int]] = {}
    for client, row in sorted(new_rows.items()):
        before.setdefault(row, Counter())[models.row_by_client[client]] += 1
    count = max(before, default=0) + 1
    origin = [0] + [most_common(before[row]) if row in before else 0 for row in range(1, count)]
    return models.select(origin, new_rows)


def groups_of_absent(old: Mapping[ClientId, int], new: Mapping[ClientId, int]) -> dict[ClientId, int]:
    """The new groups of clients that have none yet: that of most of their old group, where any of it is left.

    A client that was unlike all has no group to follow.
    """
    went: dict[int, Counter[int]] = {}
    for client, group in new.items():
        if old.get(client, NO_GROUP) != NO_GROUP:
            went.setdefault(old[client], Counter())[group] += 1
    return {client: most_common(went[group]) for client, group in old.items() if client not in new and group in went}


def most_common(counts: "Counter[int]") -> int:
    """The most frequent number; of equals the smallest."""
    return min(counts, key=lambda number: (-counts[number], number))


def most_common_row(models: Assignment, clients: Iterable[ClientId]) -> int:
    """The row that most of these clients have; 0 if there are none."""
    counts = Counter(models.row_by_client[client] for client in clients)
    return most_common(counts) if counts else 0
