"""Class moments: for every client and label, how many examples, their mean in a shared basis, and its variance.

The basis is public, so the means of two clients can be compared. Two samples of one distribution differ by the
variances of their means, and by nothing else: therefore the variances are sent too.

Of a number that is learned, intervals count as labels. What the number has to do with each feature is told better by
the mean of all examples, each times its number: that is one more row, the products.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core.errors import InputError
from fedclade.core.ids import ClientId


@dataclass(frozen=True, eq=False)
class Moments:
    """What each client's data look like, label by label."""

    clients: tuple[ClientId, ...]
    counts: NDArray[np.int64]
    """(clients, labels): examples; 0: the client has none, or does not describe the label."""
    means: NDArray[np.float32]
    """(clients, labels, features): the mean of the encoded examples; 0 where there are none."""
    variances: NDArray[np.float32]
    """(clients, labels): the variance of that mean, summed over the features; 0 where a count is below 2."""
    has_products: bool = False
    """Whether the last label is none, but all examples, each times its number."""

    def __post_init__(self) -> None:
        shape = (len(self.clients), *self.counts.shape[1:2])
        if not self.counts.shape == self.variances.shape == self.means.shape[:2] == shape or self.means.ndim != 3:
            got = f"{len(self.clients)} clients, {self.counts.shape}, {self.means.shape}, {self.variances.shape}"
            need = "(clients, labels), (clients, labels, features), (clients, labels)"
            raise InputError("moments do not fit together", got=got, need=need)

    def of(self, clients: Iterable[ClientId]) -> "Moments":
        """Those of these clients, in this order."""
        places = {client: number for number, client in enumerate(self.clients)}
        wanted = tuple(clients)
        chosen = [places[client] for client in wanted]
        return replace(
            self,
            clients=wanted,
            counts=self.counts[chosen],
            means=self.means[chosen],
            variances=self.variances[chosen],
        )

    def labels_alone(self) -> "Moments":
        """Without the products, if there are some."""
        return self._of_labels(slice(None, -1)) if self.has_products else self

    def products_alone(self) -> "Moments":
        """The products as the only label."""
        return self._of_labels(slice(-1, None))

    def _of_labels(self, some: slice) -> "Moments":
        return Moments(self.clients, self.counts[:, some], self.means[:, some], self.variances[:, some])

    def merge(self, other: "Moments") -> "Moments":
        """Those of both, sorted by client; a client that is in both has the other's."""
        kept = self.of(client for client in self.clients if client not in set(other.clients))
        both = concatenate_moments((kept, other))
        return both.of(sorted(both.clients))

    def pool_groups(self, groups: Sequence[Sequence[ClientId]], names: Sequence[str]) -> "Moments":
        """The moments of each group's examples taken together, as if a group were one client of this name."""
        places = {client: number for number, client in enumerate(self.clients)}
        inside = [[places[client] for client in group if client in places] for group in groups]
        counts = np.array([self.counts[own].sum(axis=0) for own in inside], np.int64).reshape(len(groups), -1)
        some = np.maximum(counts, 1)
        means = np.zeros((len(groups), *self.means.shape[1:]), np.float32)
        variances = np.zeros(counts.shape, np.float32)
        for number, own in enumerate(inside):
            weights = self.counts[own].astype(np.float64)
            means[number] = np.einsum("cl,clf->lf", weights, self.means[own]) / some[number, :, None]
            variances[number] = np.einsum("cl,cl->l", weights**2, self.variances[own]) / some[number] ** 2
        return replace(self, clients=tuple(names), counts=counts, means=means, variances=variances)

    def pieces(self, size: int) -> Iterator["Moments"]:
        """Those of so many clients at a time, so that a result need not be in memory for all at once."""
        for start in range(0, len(self.clients), size):
            yield self.of(self.clients[start : start + size])


def label_moments(
    encoded: NDArray[np.float64], kinds: NDArray[np.bool_], numbers: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Of each kind of label: count, mean of the examples (examples, features), and the summed variance of that mean.

    `kinds` says which examples have which, (examples, kinds). With `numbers`, (examples,), the products come last.
    """
    if numbers is not None:
        everything = np.ones((len(numbers), 1), bool)
        parts = label_moments(encoded, kinds), label_moments(encoded * numbers[:, None], everything)
        (counts, means, variances), last = parts
        return np.append(counts, last[0]), np.concatenate([means, last[1]]), np.append(variances, last[2])
    counts = kinds.sum(axis=0, dtype=np.int64)
    means = np.zeros((kinds.shape[1], encoded.shape[1]))
    variances = np.zeros(kinds.shape[1])
    for label in np.flatnonzero(counts):
        own = encoded[kinds[:, label]]
        means[label] = own.mean(axis=0)
        if len(own) > 1:
            variances[label] = own.var(axis=0, ddof=1).sum() / len(own)
    return counts, means, variances


def concatenate_moments(parts: Sequence[Moments]) -> Moments:
    return Moments(
        tuple(client for part in parts for client in part.clients),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.means for part in parts]),
        np.concatenate([part.variances for part in parts]),
        parts[0].has_products,
    )
