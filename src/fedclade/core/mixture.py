"""Models that are means of others, kept as those and their shares: W' = A W, with A and W instead of W'.

Thousands of models that are mixed from a few hundred take the memory of those few hundred. A model is added up when it
is asked for: in single precision, from its own rows alone, so that it has the same bits whichever others are asked for
with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core.errors import InputError

PARAMETERS_AT_ONCE = 2**9  # parameters that are mixed at once: a processor's cache holds them for all rows


@dataclass(frozen=True, eq=False)
class Mixture:
    """Of which rows a model is mixed, and how much of each it has: compressed sparse rows, as plain arrays."""

    starts: NDArray[np.int64]
    """(models + 1,): model m has the entries from starts[m] up to starts[m + 1] of the other two."""
    rows: NDArray[np.int64]
    """(entries,): the row of each entry."""
    shares: NDArray[np.float32]
    """(entries,): how much of it."""

    def __post_init__(self) -> None:
        ends = (int(self.starts[0]), int(self.starts[-1])) if len(self.starts) else (-1, -1)
        if ends != (0, len(self.rows)) or len(self.shares) != len(self.rows) or (np.diff(self.starts) < 0).any():
            got = f"{len(self.rows)} rows and {len(self.shares)} shares for entries {ends[0]} to {ends[1]}"
            raise InputError("a mixture does not fit together", where="an assignment", got=got, need="as many of each")

    @classmethod
    def of_table(cls, table: NDArray[np.float32]) -> "Mixture":
        """From the table A, (models, rows): entries that are 0 are left out."""
        models, rows = np.nonzero(table)
        ends = np.cumsum(np.bincount(models, minlength=len(table)))
        return cls(np.concatenate([[0], ends]).astype(np.int64), rows.astype(np.int64), table[models, rows])

    @classmethod
    def of_whole_rows(cls, rows: Sequence[int]) -> "Mixture":
        """Each model is one of the rows."""
        count = len(rows)
        return cls(np.arange(count + 1, dtype=np.int64), np.array(rows, np.int64), np.ones(count, np.float32))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def fits(self, rows: int) -> bool:
        """Whether it needs no row beyond so many."""
        return bool(((self.rows >= 0) & (self.rows < rows)).all())

    def select(self, models: Sequence[int]) -> "Mixture":
        """The part of these models, in this order."""
        chosen = np.array(models, np.int64)
        sizes = self.starts[chosen + 1] - self.starts[chosen]
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        entries = np.repeat(self.starts[chosen] - ends[:-1], sizes) + np.arange(ends[-1])
        return Mixture(ends, self.rows[entries], self.shares[entries])

    def concatenate(self, other: "Mixture") -> "Mixture":
        """These models, then those of another mixture of the same rows."""
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return Mixture(starts, np.concatenate([self.rows, other.rows]), np.concatenate([self.shares, other.shares]))

    def sums(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """The models, (models, parameters), from the rows."""
        from scipy.sparse import csr_array

        used, places = np.unique(self.rows, return_inverse=True)
        table = csr_array((self.shares, places, self.starts), shape=(len(self), len(used)))
        models = np.empty((len(self), rows.shape[1]), np.float32)
        for start in range(0, rows.shape[1], PARAMETERS_AT_ONCE):
            piece = slice(start, start + PARAMETERS_AT_ONCE)
            models[:, piece] = table @ rows[used, piece]
        return models

    def mean_shares(self, weights: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """(rows,): how much of each row the sum of all models has, each model times its weight, (models,)."""
        per_entry = np.repeat(weights, np.diff(self.starts)) * self.shares
        shares: NDArray[np.float64] = np.bincount(self.rows, weights=per_entry, minlength=rows).astype(np.float64)
        return shares
