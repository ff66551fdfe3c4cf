"""What FLT remembers: the models, who belongs where, and what groups look like. It never asks a client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fedclade.nouns import Assignment, ClientId, Row
from fedclade.relate.discovery import Found
from fedclade.relate.graph import Graph
from fedclade.relate.rehousing import NOBODY, followers, inherited, overall, usual_row
from fedclade.relate.signatures import Places, Told, nearest_groups, places_of, settled

NO_WEIGHTS: Row = np.zeros(0, np.float32)
ALL = 0  # the row of the model of all: theirs, and that of clients that have not been sketched yet


@dataclass(frozen=True, eq=False)
class Taskonomy:
    """The state of FLT."""

    models: Assignment
    """Row 0 is the model of all; then one for each group, or for each distinct row of A."""
    group: dict[ClientId, int]
    """Each client's group; who is not in it has not been sketched yet."""
    tokens: dict[ClientId, int]
    """What each client said of its data, to be asked whether they have changed."""
    raised: dict[ClientId, int]
    """The round in which each client last raised a flag."""
    atlas: Places | None = None
    """None: nobody has been sketched yet."""
    graph: Graph | None = None
    """Case I: who learns from whom."""
    moved: tuple[ClientId, ...] = ()
    """Clients whose sketch no longer fits their group."""
    clustered: int = 0
    """The round of the last clustering."""
    encoder: Row = field(default_factory=NO_WEIGHTS.copy)
    """The weights of the encoder that clients are sent; none for class moments."""

    def active(self, clients: Sequence[ClientId]) -> list[ClientId]:
        """Those who take part in training: who has a group."""
        return [client for client in clients if self.group.get(client, NOBODY) != NOBODY]

    def regrouped(self, found: Found, graph: Graph | None, told: Told, number: int) -> "Taskonomy":
        """Everybody in the group that was found now; who was not sketched goes with most of its old group."""
        members = found.partition.members
        group = {**followers(self.group, found.partition.labels), **found.partition.labels}
        if graph is not None:
            rest = {client: group[client] for client in sorted(set(group) - set(found.clients))}
            graph = graph.joined_many(rest, dict(enumerate(members)))
        state = replace(
            self,
            group=group,
            graph=graph,
            atlas=places_of(found.kind, told, members),
            moved=(),
            clustered=number,
        )
        return replace(state, models=inherited(self.models, state.rows()))

    def rows(self) -> dict[ClientId, int]:
        """The row of every client: of its group, or of its row of A; that of all for who has neither."""
        known = self.group if self.graph is None else self.graph.home
        return {client: known.get(client, NOBODY) + 1 for client in self.models.home}

    def with_clients(self, told: Told, *, strangers_begin_groups: bool) -> "Taskonomy":
        """More clients where they belong: in the nearest group, in one of their own, or with the model of all."""
        assert self.atlas is not None
        atlas, near = settled(self.atlas, told, strangers_begin_groups=strangers_begin_groups)
        placed = {client: group for client, group in near.items() if group is not None}
        members = {number: self.members(number) for number in set(placed.values())}
        group = {**self.group, **{client: placed.get(client, NOBODY) for client in near}}
        graph = None if self.graph is None else self.graph.joined_many(placed, members)
        usual = {number: usual_row(self.models, there) for number, there in members.items()}
        before = self.models.joined({client: usual[placed[client]] if client in placed else ALL for client in near})
        state = replace(self, atlas=atlas, group=group, graph=graph, models=before)
        return replace(state, models=inherited(before, state.rows()))

    def members(self, number: int) -> list[ClientId]:
        """Who is in this group."""
        return [client for client, group in self.group.items() if group == number]

    def looked_at(self, told: Told, tokens: Mapping[ClientId, int]) -> "Taskonomy":
        """After a new look at these clients: whose data are others now, and no longer fit its group."""
        assert self.atlas is not None
        groups = nearest_groups(self.atlas, told)
        near = {client: NOBODY if group is None else group for client, group in groups.items()}
        other = {client for client in near if client in self.moved or tokens[client] != self.tokens.get(client)}
        moved = {client for client in other if near[client] != self.group.get(client, near[client])}
        return replace(self, moved=tuple(sorted(set(self.moved) - set(near) | moved))).with_tokens(tokens)

    def among(self, clients: Sequence[ClientId]) -> "Taskonomy":
        """The same where only these are there: who has left has not moved."""
        return replace(self, moved=tuple(client for client in self.moved if client in set(clients)))

    def with_tokens(self, tokens: Mapping[ClientId, int]) -> "Taskonomy":
        """With what clients last said of their data."""
        return replace(self, tokens={**self.tokens, **tokens})

    def with_overall(self) -> "Taskonomy":
        """With the model of all made anew, if somebody has it."""
        if ALL not in self.models.home.values():
            return self
        rows = np.concatenate([overall(self.models)[None], self.models.rows[1:]])
        return replace(self, models=Assignment(rows, self.models.home))
