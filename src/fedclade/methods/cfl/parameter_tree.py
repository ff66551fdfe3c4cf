"""CFL's parameter tree (section IV-C): what CFL remembers. It never asks a client.

Every cluster has a node, with its model. That of a leaf is in training; that of an inner node is as it was when the
cluster was split. The edges below an inner node hold the updates that it was split by, so that a newcomer can walk
down. Every client has one node, so that none can be lost or be in two clusters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fedclade.clustering.bipartition import Bipartition
from fedclade.core import Assignment, ClientId, Row, Rows
from fedclade.methods.cfl.cluster_signs import ClusterSigns, Update

ROOT = 0
NO_PARENT = -1  # the parent of the root


@dataclass(frozen=True, eq=False)
class Split:
    """The two edges below an inner node."""

    children: tuple[int, int]
    round: int
    clients: tuple[tuple[ClientId, ...], tuple[ClientId, ...]]
    """The clients of the updates on each edge."""
    updates: tuple[Rows, Rows]
    """Before the split, scaled to length 1: (clients, parameters) for each edge."""
    undivided: Row | None = None
    """While the split is on trial: the model that the cluster would have without it."""


@dataclass(frozen=True, eq=False)
class Node:
    """One cluster."""

    model: Row
    parent: int
    mean_seen: float = 0.0
    """The largest norm of a mean update since the cluster began."""
    usual_seen: float = 0.0
    """The same of a usual client's update."""
    wanted_parts: tuple[tuple[ClientId, ...], ...] = ()
    """The two parts that the criteria asked for in the last round; none if they did not."""
    consecutive_rounds: int = 0
    """How many rounds in a row they have asked for this."""
    no_split_before: int = 0
    """After a split was undone: the round before which there is no other."""
    split: Split | None = None
    """None: a leaf."""

    def after_round(self, signs: ClusterSigns, asked: Bipartition | None) -> "Node":
        """The node after a round, in which the criteria asked for these parts, or for none."""
        parts: tuple[tuple[ClientId, ...], ...] = () if asked is None else asked.parts
        before = self.consecutive_rounds if same_parts(self.wanted_parts, parts) else 0
        node = replace(self, mean_seen=signs.mean_seen, usual_seen=signs.usual_seen)
        return replace(node, wanted_parts=parts, consecutive_rounds=0 if asked is None else before + 1)


@dataclass(frozen=True, eq=False)
class CFLState:
    """What CFL remembers: the parameter tree, and the node of each client."""

    nodes: dict[int, Node]
    node_by_client: dict[ClientId, int]
    """Each client's leaf; or the inner node from which it has still to walk down."""
    latest: dict[ClientId, Update] = field(default_factory=dict)
    """With less than full participation: the latest update of each client, while it counts."""

    @classmethod
    def one_cluster(cls, model: Row, clients: Sequence[ClientId]) -> "CFLState":
        """One cluster of all."""
        return cls({ROOT: Node(model, NO_PARENT)}, dict.fromkeys(clients, ROOT))

    def leaves(self) -> tuple[int, ...]:
        """The clusters as of now."""
        return tuple(number for number, node in self.nodes.items() if node.split is None)

    def path(self, number: int) -> tuple[int, ...]:
        """From the root to this node, general to special."""
        parent = self.nodes[number].parent
        return (number,) if parent == NO_PARENT else (*self.path(parent), number)

    def members(self, number: int) -> tuple[ClientId, ...]:
        """The clients of this cluster, and of those that it was split into."""
        below = {each for each in self.nodes if number in self.path(each)}
        return tuple(client for client, home in self.node_by_client.items() if home in below)

    def waiting(self, clients: Sequence[ClientId]) -> list[ClientId]:
        """Those of these clients that are not in a leaf yet."""
        return [client for client in clients if self.nodes[self.node_by_client[client]].split is not None]

    def cluster_models(self, clients: Sequence[ClientId]) -> Assignment:
        """The model of its own cluster for each of these clients."""
        return self._models({client: self.node_by_client[client] for client in clients}, {})

    def models_in_use(self) -> Assignment:
        """The model of each client: that of its cluster; while a split is on trial, that of the undivided one."""
        tried, nodes = self.on_trial(), set(self.node_by_client.values())
        used = {node: next((each for each in self.path(node) if each in tried), node) for node in nodes}
        return self._models({client: used[node] for client, node in self.node_by_client.items()}, tried)

    def on_trial(self) -> dict[int, Row]:
        """The nodes whose split is on trial, and what their model would be without it."""
        splits = {number: node.split for number, node in self.nodes.items() if node.split is not None}
        return {number: split.undivided for number, split in splits.items() if split.undivided is not None}

    def _models(self, where: Mapping[ClientId, int], instead: Mapping[int, Row]) -> Assignment:
        """The model of a node, or the one that is used instead of it, for each of these clients."""
        used = sorted(set(where.values()))
        models = [instead.get(number, self.nodes[number].model) for number in used]
        place = {number: row for row, number in enumerate(used)}
        rows = np.stack(models) if models else self.nodes[ROOT].model[None][:0]
        return Assignment(rows, {client: place[number] for client, number in where.items()})

    def with_node(self, number: int, node: Node) -> "CFLState":
        """The tree with another node in this place."""
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
    ) -> "CFLState":
        """Split this leaf in two, which go on from `model`; the node keeps the model that the updates start from.

        Members that are in neither part wait at the node, and walk down later.
        """
        node, new = self.nodes[number], max(self.nodes) + 1
        clients = (found.parts[0][:cached], found.parts[1][:cached])
        edges = tuple(np.stack([unit(updates[client].row) for client in edge]) for edge in clients)
        split = Split((new, new + 1), now, clients, (edges[0], edges[1]), model if trial else None)
        child = Node(model, number)
        nodes = {**self.nodes, number: replace(node, split=split), new: child, new + 1: child}
        parts = {client: new + place for place, part in enumerate(found.parts) for client in part}
        return replace(self, nodes=nodes).move_clients(parts)

    def move_clients(self, node_by_client: Mapping[ClientId, int]) -> "CFLState":
        """Move these clients to other nodes; their updates were those of another model, and no longer count."""
        latest = {client: update for client, update in self.latest.items() if client not in node_by_client}
        return replace(self, node_by_client={**self.node_by_client, **node_by_client}, latest=latest)

    def with_undivided(self, number: int, undivided: Row | None) -> "CFLState":
        """Set the model of the undivided cluster; None: the trial is over, and the split stays."""
        node = self.nodes[number]
        assert node.split is not None
        return self.with_node(number, replace(node, split=replace(node.split, undivided=undivided)))

    def undo_split(self, number: int, no_split_before: int) -> "CFLState":
        """Undo this split: the cluster is one leaf again, with the model that was trained beside the split."""
        node = self.nodes[number]
        assert node.split is not None
        model = node.model if node.split.undivided is None else node.split.undivided
        leaf = replace(node, model=model, split=None, wanted_parts=(), consecutive_rounds=0)
        kept = {each: old for each, old in self.nodes.items() if number not in self.path(each)}
        moved = self.move_clients(dict.fromkeys(self.members(number), number))
        return replace(moved, nodes={**kept, number: replace(leaf, no_split_before=no_split_before)})

    def nearer_child(self, number: int, update: Row) -> int:
        """Algorithm 4, one step: the child with the most alike update on its edge."""
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


def same_parts(before: Sequence[Sequence[ClientId]], now: Sequence[Sequence[ClientId]]) -> bool:
    """Whether these are the same parts, as far as clients are in both."""
    both = {client for part in before for client in part} & {client for part in now for client in part}
    one, other = ({frozenset(both.intersection(part)) for part in parts} for parts in (before, now))
    return bool(both) and one == other
