"""CFL's parameter tree (section IV-C): what CFL remembers. It never asks a client.

A node for every cluster, with its model; a leaf's is in training, an inner one's is what it was when the cluster was
split. On the edges below an inner node stand the updates that it was split by, so that a newcomer can walk down. Who
is in which cluster follows from where each client is at home, so that nobody can be lost or be in two clusters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fedclade.methods.signs import Signs, Update
from fedclade.nouns import Assignment, ClientId, Row, Rows
from fedclade.relate.bipartition import Bipartition

ROOT = 0
NOWHERE = -1  # the parent of the root


@dataclass(frozen=True, eq=False)
class Split:
    """Two edges."""

    children: tuple[int, int]
    round: int
    clients: tuple[tuple[ClientId, ...], tuple[ClientId, ...]]
    """Whose updates stand on each edge."""
    updates: tuple[Rows, Rows]
    """Before the split, scaled to length 1: (clients, parameters) for each edge."""
    shadow: Row | None = None
    """While the split is on trial: what the cluster's model would be without it."""


@dataclass(frozen=True, eq=False)
class Node:
    """One cluster."""

    model: Row
    parent: int
    mean_seen: float = 0.0
    """The largest norm of a mean update since the cluster began."""
    usual_seen: float = 0.0
    """The same of a usual client's update."""
    wanted: tuple[tuple[ClientId, ...], ...] = ()
    """The two parts that the criteria asked for in the last round; none if they did not."""
    in_a_row: int = 0
    """How many rounds they have asked for this."""
    rests_until: int = 0
    """After a split was undone: the round before which there is no other."""
    split: Split | None = None
    """None: a leaf."""

    def having_shown(self, signs: Signs, asked: Bipartition | None) -> "Node":
        """After a round: what was largest so far, and for how many rounds the criteria have asked for these parts."""
        parts: tuple[tuple[ClientId, ...], ...] = () if asked is None else asked.parts
        in_a_row = 0 if asked is None else 1 + (self.in_a_row if same(self.wanted, parts) else 0)
        return replace(self, wanted=parts, in_a_row=in_a_row, mean_seen=signs.mean_seen, usual_seen=signs.usual_seen)


@dataclass(frozen=True, eq=False)
class Tree:
    """The state of CFL."""

    nodes: dict[int, Node]
    home: dict[ClientId, int]
    """Each client's leaf; or the inner node from which it has still to walk down."""
    latest: dict[ClientId, Update] = field(default_factory=dict)
    """With less than full participation: everybody's latest update, while it counts."""

    @classmethod
    def planted(cls, model: Row, clients: Sequence[ClientId]) -> "Tree":
        """One cluster of all."""
        return cls({ROOT: Node(model, NOWHERE)}, dict.fromkeys(clients, ROOT))

    def leaves(self) -> tuple[int, ...]:
        """The clusters as of now."""
        return tuple(number for number, node in self.nodes.items() if node.split is None)

    def path(self, number: int) -> tuple[int, ...]:
        """From the root to this node, general to special."""
        parent = self.nodes[number].parent
        return (number,) if parent == NOWHERE else (*self.path(parent), number)

    def members(self, number: int) -> tuple[ClientId, ...]:
        """Who is in this cluster, or in one that it was split into."""
        below = {each for each in self.nodes if number in self.path(each)}
        return tuple(client for client, home in self.home.items() if home in below)

    def waiting(self, clients: Sequence[ClientId]) -> list[ClientId]:
        """Those of these clients who are not in a leaf yet."""
        return [client for client in clients if self.nodes[self.home[client]].split is not None]

    def at_home(self, clients: Sequence[ClientId]) -> Assignment:
        """The model of its own cluster for each of these clients."""
        return self._models({client: self.home[client] for client in clients}, {})

    def served(self) -> Assignment:
        """What everybody has: the model of its cluster; while a split is on trial, that of the undivided one."""
        tried = self.on_trial()
        above = {home: next((each for each in self.path(home) if each in tried), home) for home in self.home.values()}
        return self._models({client: above[home] for client, home in self.home.items()}, tried)

    def on_trial(self) -> dict[int, Row]:
        """The nodes whose split is on trial, and what their model would be without it."""
        splits = {number: node.split for number, node in self.nodes.items() if node.split is not None}
        return {number: split.shadow for number, split in splits.items() if split.shadow is not None}

    def _models(self, where: Mapping[ClientId, int], instead: Mapping[int, Row]) -> Assignment:
        """The model of a node, or what stands instead of it, for each of these clients."""
        used = sorted(set(where.values()))
        models = [instead.get(number, self.nodes[number].model) for number in used]
        place = {number: row for row, number in enumerate(used)}
        rows = np.stack(models) if models else self.nodes[ROOT].model[None][:0]
        return Assignment(rows, {client: place[number] for client, number in where.items()})

    def changed(self, number: int, node: Node) -> "Tree":
        """With another node in this place."""
        return replace(self, nodes={**self.nodes, number: node})

    def split(
        self,
        number: int,
        found: Bipartition,
        updates: Mapping[ClientId, Update],
        model: Row,
        now: int,
        cached: int,
        trial: bool,
    ) -> "Tree":
        """This leaf in two, which go on from `model`; the node keeps the model that the updates are updates of.

        Of its members, those who have no part yet wait at the node, and walk down later.
        """
        node, new = self.nodes[number], max(self.nodes) + 1
        clients = (found.parts[0][:cached], found.parts[1][:cached])
        edges = tuple(np.stack([unit(updates[client].row) for client in edge]) for edge in clients)
        split = Split((new, new + 1), now, clients, (edges[0], edges[1]), model if trial else None)
        child = Node(model, number)
        parts = {client: new + place for place, part in enumerate(found.parts) for client in part}
        return replace(
            self,
            nodes={**self.nodes, number: replace(node, split=split), new: child, new + 1: child},
            home={client: parts.get(client, home) for client, home in self.home.items()},
            latest={client: update for client, update in self.latest.items() if client not in parts},
        )

    def moved(self, home: Mapping[ClientId, int]) -> "Tree":
        """With these clients at home elsewhere; their updates were those of another model, and count no more."""
        latest = {client: update for client, update in self.latest.items() if client not in home}
        return replace(self, home={**self.home, **home}, latest=latest)

    def tried(self, number: int, shadow: Row | None) -> "Tree":
        """With another model of the undivided cluster; None: the trial is over, and the split stays."""
        node = self.nodes[number]
        assert node.split is not None
        return self.changed(number, replace(node, split=replace(node.split, shadow=shadow)))

    def undone(self, number: int, rests_until: int) -> "Tree":
        """This split taken back: all of the cluster are one leaf again, with the model that trained on beside them."""
        node = self.nodes[number]
        assert node.split is not None
        model = node.model if node.split.shadow is None else node.split.shadow
        members = set(self.members(number))
        kept = {each: old for each, old in self.nodes.items() if number not in self.path(each)}
        leaf = replace(node, model=model, split=None, wanted=(), in_a_row=0, rests_until=rests_until)
        return replace(
            self,
            nodes={**kept, number: leaf},
            home={client: number if client in members else home for client, home in self.home.items()},
            latest={client: update for client, update in self.latest.items() if client not in members},
        )

    def nearer(self, number: int, update: Row) -> int:
        """Algorithm 4, one step: the child on whose edge the most alike update stands."""
        split = self.nodes[number].split
        assert split is not None
        own = unit(update)
        first, second = (float((edge @ own).max()) for edge in split.updates)
        return split.children[0] if first > second else split.children[1]


def unit(row: Row) -> Row:
    """The row scaled to length 1; zeros stay zeros."""
    length = max(float(np.linalg.norm(row.astype(np.float64))), float(np.finfo(np.float32).tiny))
    scaled: Row = (row / np.float32(length)).astype(np.float32)
    return scaled


def same(before: Sequence[Sequence[ClientId]], now: Sequence[Sequence[ClientId]]) -> bool:
    """Whether these are the same parts, as far as clients are in both."""
    both = {client for part in before for client in part} & {client for part in now for client in part}
    one, other = ({frozenset(both.intersection(part)) for part in parts} for parts in (before, now))
    return bool(both) and one == other
