"""Models in rows, and who has which.

One model is a row: a flat float32 vector. The models of a federation are a matrix of rows, one for each distinct model,
and a map from client to row. 10,000 clients in 5 groups cost 5 rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns.clients import ClientId
from fedclade.nouns.errors import InputError
from fedclade.nouns.groups import Groups

Row: TypeAlias = NDArray[np.float32]
"""One model: (parameters,)."""

Rows: TypeAlias = NDArray[np.float32]
"""Several models: (models, parameters)."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """Client -> model. Serves as the models to train from, to evaluate, and to keep."""

    rows: Rows
    home: Mapping[ClientId, int]
    """The row of each client."""

    def __post_init__(self) -> None:
        if self.rows.dtype != np.float32 or self.rows.ndim != 2:
            raise InputError(
                "models are not rows",
                where="an assignment",
                got=f"{self.rows.dtype} {self.rows.shape}",
                need="float32 (models, parameters)",
            )
        if wrong := {row for row in set(self.home.values()) if not 0 <= row < len(self.rows)}:
            client, row = next((client, row) for client, row in self.home.items() if row in wrong)
            raise InputError(
                f'client "{client}" has no such model', got=f"row {row}", need=f"0 to {len(self.rows) - 1}"
            )
        rows = self.rows.view()
        rows.flags.writeable = False  # a function on models returns new models
        object.__setattr__(self, "rows", rows)
        given, ordered = list(self.home), sorted(self.home)
        home = dict(self.home) if given == ordered else {client: self.home[client] for client in ordered}
        object.__setattr__(self, "home", home)

    @classmethod
    def of_one(cls, row: Row, clients: Iterable[ClientId]) -> "Assignment":
        """The same model for all of these clients."""
        return cls(row[None, :], dict.fromkeys(clients, 0))

    @property
    def clients(self) -> tuple[ClientId, ...]:
        """Who has a model, in sorted order."""
        return tuple(self.home)

    def row_of(self, client: ClientId) -> Row:
        """The model of one client."""
        if client not in self.home:
            raise InputError(f'there is no client "{client}"', where="an assignment", need="a client with a model")
        row: Row = self.rows[self.home[client]]
        return row

    def only(self, clients: Iterable[ClientId]) -> "Assignment":
        """The part of these clients; the rows stay as they are."""
        wanted = tuple(clients)
        if strangers := [client for client in wanted if client not in self.home]:
            raise InputError(
                f'there is no client "{strangers[0]}"', where="an assignment", need="a client with a model"
            )
        return Assignment(self.rows, {client: self.home[client] for client in wanted})

    def joined(self, newcomers: Mapping[ClientId, int]) -> "Assignment":
        """The same models, with these clients at these rows as well."""
        return Assignment(self.rows, {**self.home, **newcomers})

    def replaced(self, clients: Sequence[ClientId], rows: Rows) -> "Assignment":
        """Each of these clients with a row of its own, given in the same order; the others keep theirs."""
        changed = set(clients)
        if not len(changed) == len(clients) == len(rows):
            raise InputError(
                "clients and rows do not match",
                where="an assignment",
                got=f"{len(changed)} clients, {len(rows)} rows",
                need="one row for each client",
            )
        kept = sorted({row for client, row in self.home.items() if client not in changed})
        place = {row: number for number, row in enumerate(kept)}
        home = {client: place[row] for client, row in self.home.items() if client not in changed}
        home.update((client, len(kept) + number) for number, client in enumerate(clients))
        return Assignment(np.concatenate([self.rows[kept], rows]), home)

    def __repr__(self) -> str:
        return f"Assignment({len(self.home)} clients, {self.rows.shape[0]} models of {self.rows.shape[1]} parameters)"

    def numbers(self) -> dict[int, int]:
        """The number of the group that has each row, as `groups` numbers them: by their first clients."""
        return {row: number for number, row in enumerate(dict.fromkeys(self.home.values()))}

    def groups(self) -> Groups:
        """Clients with the same row are one group."""
        return Groups.from_labels(self.home)
