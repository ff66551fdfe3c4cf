"""Models in rows, and which client has which.

One model is a row: a flat float32 vector. The models of a federation are a matrix of rows, one for each distinct model,
and a map from client to row. 10,000 clients in 5 groups cost 5 rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.core.errors import InputError
from fedclade.core.groups import Groups
from fedclade.core.ids import ClientId

Row: TypeAlias = NDArray[np.float32]
"""One model: (parameters,)."""

Rows: TypeAlias = NDArray[np.float32]
"""Several models: (models, parameters)."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """Client -> model. Serves as the models to train from, to evaluate, and to keep."""

    rows: Rows
    row_by_client: Mapping[ClientId, int]
    """The row of each client."""

    def __post_init__(self) -> None:
        if self.rows.dtype != np.float32 or self.rows.ndim != 2:
            got, need = f"{self.rows.dtype} {self.rows.shape}", "float32 (models, parameters)"
            raise InputError("models are not rows", where="an assignment", got=got, need=need)
        if missing_rows := {row for row in set(self.row_by_client.values()) if not 0 <= row < len(self.rows)}:
            client, row = next((client, row) for client, row in self.row_by_client.items() if row in missing_rows)
            need = f"0 to {len(self.rows) - 1}"
            raise InputError(f'client "{client}" has no such model', got=f"row {row}", need=need)
        rows = self.rows.view()
        rows.flags.writeable = False  # a function on models returns new models
        object.__setattr__(self, "rows", rows)
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

    def row_of(self, client: ClientId) -> Row:
        """The model of one client."""
        row: Row = self.rows[self._number_of(client)]
        return row

    def restrict(self, clients: Iterable[ClientId]) -> "Assignment":
        """The part of these clients; the rows stay as they are."""
        return Assignment(self.rows, {client: self._number_of(client) for client in clients})

    def _number_of(self, client: ClientId) -> int:
        if client not in self.row_by_client:
            raise InputError(f'there is no client "{client}"', where="an assignment", need="a client with a model")
        return self.row_by_client[client]

    def with_clients(self, newcomers: Mapping[ClientId, int]) -> "Assignment":
        """The same models, with these clients at these rows as well."""
        return Assignment(self.rows, {**self.row_by_client, **newcomers})

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
        return Assignment(np.concatenate([self.rows[kept], rows]), row_by_client)

    def __repr__(self) -> str:
        models, parameters = self.rows.shape
        return f"Assignment({len(self.row_by_client)} clients, {models} models of {parameters} parameters)"

    def group_by_row(self) -> dict[int, int]:
        """The number of the group that has each row, as `groups` numbers them: by their first clients."""
        return {row: number for number, row in enumerate(dict.fromkeys(self.row_by_client.values()))}

    def groups(self) -> Groups:
        """Clients with the same row are one group."""
        return Groups.from_labels(self.row_by_client)
