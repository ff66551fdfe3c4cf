"""Cosines between the updates of clients, as a matrix that knows its clients."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError, Rows


@dataclass(frozen=True, eq=False)
class Matrix:
    """A number for each pair of clients, symmetric."""

    clients: tuple[ClientId, ...]
    """The clients of the rows and of the columns."""
    values: NDArray[np.float32]
    """(clients, clients)"""

    def of(self, one: ClientId, other: ClientId) -> float:
        """The number of two clients."""
        return float(self.values[self.clients.index(one), self.clients.index(other)])


def cosines(clients: Sequence[ClientId], rows: Rows) -> Matrix:
    """The cosine of the angle between any two rows, -1 to 1; a row of zeros has 0 with all others and 1 with itself."""
    if rows.ndim != 2 or len(clients) != len(rows) or len(set(clients)) != len(clients):
        got, need = f"{len(set(clients))} clients, {rows.shape}", "(clients, parameters), one row for each"
        raise InputError("clients and rows do not match", where="clustering.distances", got=got, need=need)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    scaled = rows / np.maximum(lengths, np.finfo(np.float32).tiny)[:, None].astype(np.float32)
    values = np.clip(scaled @ scaled.T, -1, 1)
    np.fill_diagonal(values, 1)
    return Matrix(tuple(clients), mirror_upper_half(values))


def mirror_upper_half(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same matrix with its lower half replaced by the upper one: a product rounds the two halves differently."""
    for number, row in enumerate(values):
        values[number + 1 :, number] = row[number + 1 :]
    return values
