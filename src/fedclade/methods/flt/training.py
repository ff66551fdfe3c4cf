"""One round of FLT's training: FedAvg in each group (case II), or over a graph (case I); and updates unlike the others.

In case I the relatedness matrix A is kept by its distinct rows: clients with equal rows of A have equal models for
ever, so one model is kept for each. A client is always related to itself. The weights of a row are multiplied by the
examples of the clients whose models they weigh, and add to 1. Models are a mixture: what is kept are those that clients
have just trained, and how much of each everybody has.

With `watch_updates` the server looks for updates that point away from those of their group (the authors name this and
leave it open how). An update is far when its distance from the mean of the others' is several times the usual one of
the round. That is a reason to ask the client for its signature again, and no more: updates are noisy. The server must
see every client's own model for this, as it does in case I anyway.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Assignment, ClientId, Groups, Mixture, Rows
from fedclade.fleet import Means, Updates
from fedclade.methods.mixing import weighted_mean

OUTLYING_UPDATE_FACTOR = 1.25  # of the usual distance: loose, since a question that was for nothing costs a sketch


@dataclass(frozen=True, eq=False)
class Graph:
    """Who learns from whom: the distinct rows of A, before examples are weighed in."""

    clients: tuple[ClientId, ...]
    """The clients of the columns."""
    weights: NDArray[np.float32]
    """(distinct rows, clients): from 0, not related, to 1."""
    row_by_client: Mapping[ClientId, int]

    def mix(
        self,
        old: Assignment,
        heard: Sequence[ClientId],
        trained: Rows,
        examples: NDArray[np.int64],
        stale: Mapping[ClientId, int],
    ) -> Assignment:
        """A W: a new model for each row of A, which stands behind the model of all, from the clients that answered.

        The model of all, number 0, stays what it is. `stale` are the examples of clients that weigh in with the model
        they have, unless they answered. A row none of whose related clients is there keeps its model.
        """
        columns = {client: number for number, client in enumerate(self.clients)}
        weights = self.weights[:, [columns[client] for client in heard]].astype(np.float64) * examples
        kept = [0]
        if silent := sorted(set(stale) & set(columns) - set(heard)):
            kept = list(range(old.model_count))
            by_model = np.zeros((len(self.weights), len(kept)))
            for client in silent:
                by_model[:, 1 + self.row_by_client[client]] += self.weights[:, columns[client]] * float(stale[client])
        else:
            kept += (1 + np.flatnonzero(weights.sum(axis=1) == 0)).tolist()
            by_model = np.zeros((len(self.weights), len(kept)))
        total = weights.sum(axis=1) + by_model.sum(axis=1)
        shares = np.zeros((1 + len(total), len(kept) + len(heard)), np.float32)
        lonely = np.flatnonzero(total == 0)
        total[lonely] = 1.0
        shares[1:] = np.concatenate([by_model, weights], axis=1) / total[:, None]
        shares[0, 0] = 1.0
        shares[1 + lonely, np.searchsorted(kept, 1 + lonely)] = 1.0
        rows = np.concatenate([old.models(kept), trained])
        return Assignment(rows, old.row_by_client, Mixture.of_table(shares))

    def weights_between(self, clients: Sequence[ClientId]) -> NDArray[np.float32]:
        """(clients, clients): how much each of them learns from each."""
        columns = {client: number for number, client in enumerate(self.clients)}
        table: NDArray[np.float32] = self.weights[[self.row_by_client[client] for client in clients]]
        return table[:, [columns[client] for client in clients]]

    def with_clients(self, newcomers: Mapping[ClientId, int], groups: Mapping[int, Sequence[ClientId]]) -> "Graph":
        """These clients more, each in its group: related to its members here, and to newcomers of the same group.

        A row takes them in if most of its clients are members.
        """
        columns = {client: number for number, client in enumerate(self.clients)}
        rows, numbers = len(self.weights), sorted(set(newcomers.values()))
        weights = np.zeros((rows + len(numbers), len(columns) + len(newcomers)), np.float32)
        weights[:rows, : len(columns)] = self.weights
        clients_of_row = np.bincount(list(self.row_by_client.values()), minlength=rows)
        group_of_newcomer = np.array(list(newcomers.values()), np.int64)
        for row, number in enumerate(numbers, start=rows):
            members = [client for client in groups.get(number, ()) if client in columns]
            fresh = len(columns) + np.flatnonzero(group_of_newcomer == number)
            inside = np.bincount([self.row_by_client[client] for client in members], minlength=rows)
            weights[row, [columns[client] for client in members]] = 1
            weights[row, fresh] = 1
            weights[np.ix_(np.flatnonzero(2 * inside > clients_of_row), fresh)] = 1
        added = {client: rows + numbers.index(number) for client, number in newcomers.items()}
        return Graph((*self.clients, *newcomers), weights, {**self.row_by_client, **added}).without_duplicates()

    def without_duplicates(self) -> "Graph":
        """The same without rows that are there twice, or that no client has."""
        first: dict[bytes, int] = {}
        kept: list[int] = []
        place: dict[int, int] = {}
        for row in sorted(set(self.row_by_client.values())):
            place[row] = first.setdefault(sha256(self.weights[row].tobytes()).digest(), len(kept))
            if place[row] == len(kept):
                kept.append(row)
        row_by_client = {client: place[row] for client, row in self.row_by_client.items()}
        return Graph(self.clients, self.weights[kept], row_by_client)


def relatedness_graph(
    clients: tuple[ClientId, ...], squared: NDArray[np.float32], reach: float, *, soft: bool = False
) -> Graph:
    """Near means related: weight 1 below this squared distance, 0 above; `soft`: exp(-squared distance / reach).

    (The paper prints Sign(A - gamma), which relates clients that are far.)
    """
    if soft:
        weights = np.exp(-np.maximum(squared, 0) / max(reach, np.finfo(np.float32).tiny)).astype(np.float32)
    else:
        weights = (squared < reach).astype(np.float32)
    np.fill_diagonal(weights, 1)
    return Graph(clients, weights, {client: number for number, client in enumerate(clients)}).without_duplicates()


def automatic_reach(squared: NDArray[np.float32], clients: tuple[ClientId, ...], groups: Groups) -> float:
    """A squared distance between those inside groups and those between the two nearest ones: the middle of their roots.

    With one group all clients are within reach.
    """
    labels = np.array([groups.labels[client] for client in clients])
    member = np.eye(len(groups))[labels]
    sizes = member.sum(axis=0)
    sums = member.T @ squared @ member
    inside = sum(sums[group, group] for group in range(len(groups)))
    pairs = float((sizes * (sizes - 1)).sum())
    between = sums / np.outer(sizes, sizes)
    np.fill_diagonal(between, np.inf)
    if len(groups) == 1:
        return float("inf")
    near, far = np.sqrt(max(inside / max(pairs, 1.0), 0.0)), np.sqrt(max(float(between.min()), 0.0))
    return float((near + far) / 2) ** 2


def outlying_clients(starts: Assignment, group: Mapping[ClientId, int], updates: Updates) -> tuple[ClientId, ...]:
    """The clients whose update points elsewhere than those of their group; not one that answered alone of its group."""
    before = starts.models([starts.row_by_client[client] for client in updates.clients])
    moved = updates.rows.astype(np.float64) - before
    groups = np.array([group[client] for client in updates.clients], np.int64)
    far = np.full(len(groups), np.nan)
    for number in np.unique(groups):
        own = np.flatnonzero(groups == number)
        if len(own) > 1:
            others = (moved[own].sum(axis=0) - moved[own]) / (len(own) - 1)
            far[own] = np.linalg.norm(moved[own] - others, axis=1) / np.sqrt(1 + 1 / (len(own) - 1))
    limit = OUTLYING_UPDATE_FACTOR * (np.nanmedian(far) if np.isfinite(far).any() else np.inf)
    return tuple(client for client, distance in zip(updates.clients, far, strict=True) if distance > limit)


def mean_by_model(starts: Assignment, updates: Updates) -> Means:
    """What `train_mean` would have given, from every client's own model."""
    rows = np.array(starts.rows)
    row_of_update = np.array([starts.row_by_client[client] for client in updates.clients], np.int64)
    examples = np.bincount(row_of_update, weights=updates.examples, minlength=len(rows)).astype(np.int64)
    for row in np.flatnonzero(examples):
        own = row_of_update == row
        rows[row] = weighted_mean(updates.rows[own], updates.examples[own].tolist())
    return Means(rows, examples, updates.clients, updates.loss)
