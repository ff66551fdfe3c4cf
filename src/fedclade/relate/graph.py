"""Who learns from whom: a relatedness matrix A kept by its distinct rows, and the mixing step W <- A W.

Clients with equal rows of A have equal models for ever, so one model is kept for each distinct row. A client is always
related to itself. Weights of a row are multiplied by the examples of whose models they weigh, and add to 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, Groups, Rows

AT_ONCE = 2**16  # parameters that are mixed at once: memory stays flat for large models


@dataclass(frozen=True, eq=False)
class Graph:
    """The distinct rows of A, before examples are weighed in."""

    clients: tuple[ClientId, ...]
    """Whose columns these are."""
    weights: NDArray[np.float32]
    """(distinct rows, clients): from 0, a stranger, to 1."""
    home: Mapping[ClientId, int]
    """The row of each client."""

    def mixed(
        self,
        old: Rows,
        heard: Sequence[ClientId],
        trained: Rows,
        examples: NDArray[np.int64],
        stale: Mapping[ClientId, int],
    ) -> Rows:
        """A W: new models for the rows `old`, which stay as they are, from the models of those who were heard.

        `stale` are the examples of clients that weigh in with the model they have, unless they were heard. A row none
        of whose related clients is there keeps its model.
        """
        columns = {client: number for number, client in enumerate(self.clients)}
        spoke = self.weights[:, [columns[client] for client in heard]].astype(np.float64) * examples
        silent = np.zeros((len(old), len(old)))
        for client in set(stale) & set(columns) - set(heard):
            silent[:, self.home[client]] += self.weights[:, columns[client]].astype(np.float64) * stale[client]
        return normalised(np.concatenate([spoke, silent], axis=1), old, np.concatenate([trained, old]))

    def of(self, clients: Sequence[ClientId]) -> NDArray[np.float32]:
        """(clients, clients): who of them is how much related to whom."""
        columns = {client: number for number, client in enumerate(self.clients)}
        table: NDArray[np.float32] = self.weights[[self.home[client] for client in clients]]
        return table[:, [columns[client] for client in clients]]

    def joined_many(self, newcomers: Mapping[ClientId, int], groups: Mapping[int, Sequence[ClientId]]) -> "Graph":
        """These clients more, each in its group: related to its members here, and to newcomers of the same group.

        A row takes them in if most of its clients are members.
        """
        columns = {client: number for number, client in enumerate(self.clients)}
        rows, numbers = len(self.weights), sorted(set(newcomers.values()))
        weights = np.zeros((rows + len(numbers), len(columns) + len(newcomers)), np.float32)
        weights[:rows, : len(columns)] = self.weights
        of_row = np.bincount(list(self.home.values()), minlength=rows)
        theirs = np.array(list(newcomers.values()), np.int64)
        for row, number in enumerate(numbers, start=rows):
            members = [client for client in groups.get(number, ()) if client in columns]
            fresh = len(columns) + np.flatnonzero(theirs == number)
            inside = np.bincount([self.home[client] for client in members], minlength=rows)
            weights[row, [columns[client] for client in members]] = 1
            weights[row, fresh] = 1
            weights[np.ix_(np.flatnonzero(2 * inside > of_row), fresh)] = 1
        home = {client: rows + numbers.index(number) for client, number in newcomers.items()}
        return Graph((*self.clients, *newcomers), weights, {**self.home, **home}).distinct()

    def distinct(self) -> "Graph":
        """The same without rows that are there twice, or that nobody has."""
        first: dict[bytes, int] = {}
        kept: list[int] = []
        place: dict[int, int] = {}
        for row in sorted(set(self.home.values())):
            place[row] = first.setdefault(sha256(self.weights[row].tobytes()).digest(), len(kept))
            if place[row] == len(kept):
                kept.append(row)
        return Graph(self.clients, self.weights[kept], {client: place[row] for client, row in self.home.items()})


def normalised(parts: NDArray[np.float64], old: Rows, models: Rows) -> Rows:
    """Each row's parts, made to add to 1, times the models; the old row where there are none."""
    total = parts.sum(axis=1)
    some = total > 0
    new = np.array(old, np.float32)
    shares = parts[some] / total[some, None]
    for start in range(0, old.shape[1], AT_ONCE):
        piece = slice(start, start + AT_ONCE)
        new[some, piece] = shares @ models[:, piece].astype(np.float64)
    return new


def full_graph(
    clients: tuple[ClientId, ...], squared: NDArray[np.float32], reach: float, *, soft: bool = False
) -> Graph:
    """Near means related: weight 1 below this squared distance, 0 above; `soft`: exp(-squared distance / reach).

    (The paper prints Sign(A - gamma), which relates those who are far.)
    """
    if soft:
        weights = np.exp(-np.maximum(squared, 0) / max(reach, np.finfo(np.float32).tiny)).astype(np.float32)
    else:
        weights = (squared < reach).astype(np.float32)
    np.fill_diagonal(weights, 1)
    return Graph(clients, weights, {client: number for number, client in enumerate(clients)}).distinct()


def automatic_reach(squared: NDArray[np.float32], clients: tuple[ClientId, ...], groups: Groups) -> float:
    """A squared distance between those inside groups and those between the two nearest ones: the middle of their roots.

    With one group everybody is within reach.
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
