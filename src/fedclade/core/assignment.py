"""Models in rows, and which client has which.

One model is a row: a flat float32 vector. The models of a federation are a matrix of rows, one for each distinct model,
and a map from client to row. 10,000 clients in 5 groups cost 5 rows. Models that are means of others may be kept as
those and their shares.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.core.errors import InputError
from fedclade.core.groups import Groups
from fedclade.core.ids import ClientId
from fedclade.core.mixture import Mixture

Row: TypeAlias = NDArray[np.float32]
"""One model: (parameters,)."""

Rows: TypeAlias = NDArray[np.float32]
"""Several models: (models, parameters)."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """Client -> model. Serves as the models to train from, to evaluate, and to keep."""

    basis: Rows
    """The models, or what they are mixed from."""
    row_by_client: Mapping[ClientId, int]
    """The number of each client's model, a row of `rows`."""
    mixture: Mixture | None = None
    """How the models are mixed from the basis; None: they are the basis."""

    def __post_init__(self) -> None:
        if self.basis.dtype != np.float32 or self.basis.ndim != 2:
            got, need = f"{self.basis.dtype} {self.basis.shape}", "float32 (models, parameters)"
            raise InputError("models are not rows", where="an assignment", got=got, need=need)
        if missing_rows := {row for row in set(self.row_by_client.values()) if not 0 <= row < self.model_count}:
            client, row = next((client, row) for client, row in self.row_by_client.items() if row in missing_rows)
            need = f"0 to {self.model_count - 1}"
            raise InputError(f'client "{client}" has no such model', got=f"row {row}", need=need)
        if self.mixture is not None and not self.mixture.fits(len(self.basis)):
            need = f"rows 0 to {len(self.basis) - 1}"
            raise InputError("a mixture has rows that are not there", where="an assignment", need=need)
        basis = self.basis.view()
        basis.flags.writeable = False  # a function on models returns new models
        object.__setattr__(self, "basis", basis)
        row_by_client = {client: self.row_by_client[client] for client in sorted(self.row_by_client)}
        object.__setattr__(self, "row_by_client", row_by_client)

    @classmethod
    def of_one(cls, row: Row, clients: Iterable[ClientId]) -> "Assignment":
        """The same model for all of these clients."""
        return cls(row[None, :], dict.fromkeys(clients, 0))

    @property
    def clients(self) -> tuple[ClientId, ...]:
        """The clients that have a model, in sorted order."""
        return tuple(self.row_by_client)

    @property
    def model_count(self) -> int:
        """How many distinct models there are."""
        return len(self.basis) if self.mixture is None else len(self.mixture)

    @property
    def rows(self) -> Rows:
        """All models, (models, parameters). Of a mixture they are added up anew at each call; `models` gives some."""
        return self.basis if self.mixture is None else self.mixture.sums(self.basis)

    def models(self, numbers: Sequence[int]) -> Rows:
        """The models of these numbers, (models, parameters)."""
        if self.mixture is None:
            chosen: Rows = self.basis[list(numbers)]
            return chosen
        return self.mixture.select(numbers).sums(self.basis)

    def row_of(self, client: ClientId) -> Row:
        """The model of one client."""
        number = self._number_of(client)
        row: Row = self.basis[number] if self.mixture is None else self.models([number])[0]
        return row

    def restrict(self, clients: Iterable[ClientId]) -> "Assignment":
        """The part of these clients; the models keep their numbers."""
        return Assignment(self.basis, {client: self._number_of(client) for client in clients}, self.mixture)

    def in_rows(self) -> "Assignment":
        """The same clients with the same models, each a row; of a mixture without those that no client has."""
        if self.mixture is None:
            return self
        numbers = sorted(set(self.row_by_client.values()))
        place = {number: row for row, number in enumerate(numbers)}
        return Assignment(self.models(numbers), {client: place[each] for client, each in self.row_by_client.items()})

    def select(self, numbers: Sequence[int], row_by_client: Mapping[ClientId, int]) -> "Assignment":
        """Models of these numbers for these clients. One that is there several times takes memory once."""
        if self.mixture is not None:
            return Assignment(self.basis, row_by_client, self.mixture.select(numbers))
        if len(set(numbers)) == len(numbers):
            return Assignment(self.models(numbers), row_by_client)
        return Assignment(self.basis, row_by_client, Mixture.of_whole_rows(numbers))

    def mean(self, weights: NDArray[np.float64]) -> Row:
        """The sum of all models, each times its weight, (models,); in double precision."""
        if self.mixture is not None:
            weights = self.mixture.mean_shares(weights, len(self.basis))
        used = np.flatnonzero(weights)
        mean: Row = (weights[used] @ self.basis[used].astype(np.float64)).astype(np.float32)
        return mean

    def with_model(self, number: int, row: Row) -> "Assignment":
        """The same with another model of this number."""
        if self.mixture is None:
            rows = np.array(self.basis)
            rows[number] = row
            return Assignment(rows, self.row_by_client)
        numbers = np.arange(len(self.mixture))
        numbers[number] = len(self.mixture)
        mixture = self.mixture.concatenate(Mixture.of_whole_rows([len(self.basis)])).select(numbers.tolist())
        return Assignment(np.concatenate([self.basis, row[None]]), self.row_by_client, mixture)

    def _number_of(self, client: ClientId) -> int:
        if client not in self.row_by_client:
            raise InputError(f'there is no client "{client}"', where="an assignment", need="a client with a model")
        return self.row_by_client[client]

    def with_clients(self, newcomers: Mapping[ClientId, int]) -> "Assignment":
        """The same models, with these clients at these rows as well."""
        return Assignment(self.basis, {**self.row_by_client, **newcomers}, self.mixture)

    def with_own_rows(self, clients: Sequence[ClientId], rows: Rows) -> "Assignment":
        """Each of these clients with a row of its own, given in the same order; the others keep theirs."""
        changed = set(clients)
        if not len(changed) == len(clients) == len(rows):
            got = f"{len(changed)} clients, {len(rows)} rows"
            raise InputError(
                "clients and rows do not match", where="an assignment", got=got, need="one row for each client"
            )
        kept = sorted({row for client, row in self.row_by_client.items() if client not in changed})
        place = {row: number for number, row in enumerate(kept)}
        row_by_client = {client: place[row] for client, row in self.row_by_client.items() if client not in changed}
        row_by_client.update((client, len(kept) + number) for number, client in enumerate(clients))
        if self.mixture is None:
            return Assignment(np.concatenate([self.basis[kept], rows]), row_by_client)
        own = Mixture.of_whole_rows(range(len(self.basis), len(self.basis) + len(rows)))
        mixture = self.mixture.select(kept).concatenate(own)
        return Assignment(np.concatenate([self.basis, rows]), row_by_client, mixture)

    def __repr__(self) -> str:
        clients, parameters = len(self.row_by_client), self.basis.shape[1]
        return f"Assignment({clients} clients, {self.model_count} models of {parameters} parameters)"

    def group_by_row(self) -> dict[int, int]:
        """The number of the group that has each row, as `groups` numbers them: by their first clients."""
        return {row: number for number, row in enumerate(dict.fromkeys(self.row_by_client.values()))}

    def groups(self) -> Groups:
        """Clients with the same row are one group."""
        return Groups.from_labels(self.row_by_client)
