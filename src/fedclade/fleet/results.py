"""The results of the verbs of a fleet.

They stand in the order of the request, in whatever order replies came. A client that did not answer, or whose reply the
gate refused, is not among them: a method goes on with the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Moments, Rows
from fedclade.core.evaluation import Evaluation
from fedclade.core.task import Task


@dataclass(frozen=True, eq=False)
class Updates:
    """`train`: the model of every client that answered."""

    clients: tuple[ClientId, ...]
    rows: Rows
    """(clients, parameters)"""
    examples: NDArray[np.int64]
    """How many examples each one trained on."""
    losses: NDArray[np.float64]
    """Mean training loss of its last epoch."""

    @property
    def loss(self) -> float:
        """As in `Means`."""
        return float(np.average(self.losses, weights=self.examples)) if self.clients else float("nan")


@dataclass(frozen=True, eq=False)
class Means:
    """`train_mean`: for every model sent out, the mean of what came back, weighted by examples."""

    rows: Rows
    """(models, parameters); a model without any reply is as it was sent."""
    examples: NDArray[np.int64]
    """How many examples stand behind each row; 0: no client answered."""
    heard: tuple[ClientId, ...]
    loss: float
    """Mean training loss over the examples of all replies; NaN if there is none."""


@dataclass(frozen=True, eq=False)
class Losses:
    """`losses`: the mean training loss of every model on every client's data."""

    clients: tuple[ClientId, ...]
    table: NDArray[np.float64]
    """(clients, models)"""
    examples: NDArray[np.int64]

    def of(self, clients: Sequence[ClientId]) -> "Losses":
        """The losses of these clients alone, in their order."""
        place = {client: number for number, client in enumerate(self.clients)}
        rows = [place[client] for client in clients]
        return Losses(tuple(clients), self.table[rows], self.examples[rows])

    def best_row(self) -> dict[ClientId, int]:
        """The model with the lowest loss for each client; the first of equals."""
        return {client: int(row) for client, row in zip(self.clients, self.table.argmin(axis=1), strict=True)}


@dataclass(frozen=True, eq=False)
class Scores:
    """`evaluate`: how every client's model does on its own test part: see `fedclade.core.evaluation`."""

    task: Task
    clients: tuple[ClientId, ...]
    examples: NDArray[np.int64]
    losses: NDArray[np.float64]
    """Mean test loss."""
    score: NDArray[np.float64]
    """(clients, 2)"""
    counts: NDArray[np.int64]
    """(clients, counts)"""
    sums: NDArray[np.float64]
    """(clients, sums)"""

    @property
    def mean_scores(self) -> NDArray[np.float64]:
        """(clients,): of a classification the accuracy, from 0 to 1."""
        share: NDArray[np.float64] = self.score[:, 0] / self.examples
        return share

    def evaluations(self) -> list[Evaluation]:
        """Those of the clients, in their order."""
        return [
            Evaluation(int(examples), float(loss), *numbers)
            for examples, loss, *numbers in zip(
                self.examples, self.losses, self.score, self.counts, self.sums, strict=True
            )
        ]


@dataclass(frozen=True, eq=False)
class Sketches:
    """`sketch`: a few points that stand for each client's data."""

    points: Mapping[ClientId, NDArray[np.float32]]
    """(points, features) of each client."""
    counts: Mapping[ClientId, NDArray[np.int64]]
    """How many examples each point stands for."""
    tokens: Mapping[ClientId, int]
    """The number by which each client recognises these data; it tells nothing else about them."""


@dataclass(frozen=True, eq=False)
class Scatter:
    """`scatter`: sums over all examples of all clients that answered, nothing of one client."""

    examples: int
    total: NDArray[np.float64]
    """(features,): the sum of the encoded examples."""
    products: NDArray[np.float64]
    """(features, features): the sum of their outer products."""
    heard: tuple[ClientId, ...]


@dataclass(frozen=True, eq=False)
class ClientMoments:
    """`moments`: the class moments of each client's data."""

    moments: Moments
    """Of the clients that answered and described a label."""
    tokens: Mapping[ClientId, int]
    """As in `Sketches`."""


@dataclass(frozen=True, eq=False)
class Flags:
    """`changed`: whether each client says that its data are others than those of its token."""

    changed: Mapping[ClientId, bool]


@dataclass(frozen=True)
class ColumnFacts:
    """What a client says of one of its columns."""

    kind: str
    """number, boolean, date, text, `numbers and text`, `dates and text`, `numbers with a unit`, empty, or unusable."""
    fault: str
    """Why it is unusable."""
    filled: int
    """Cells that are not empty."""
    different: int
    """How many different values it has."""
    words: float
    """In a cell with text, in the mean."""
    is_unique: bool
    """No two rows have the same value."""
    is_monotone: bool
    """Whole numbers or dates in most cells, each larger than the one before, or each smaller."""
    is_whole: bool
    has_years: bool
    """Whole numbers that can all be years."""
    day_first: bool = False
    """Dates that are read with the day first, and would be others, or none, with the month first ..."""
    month_first: bool = False
    """... and the reverse. Both: nothing there shows which is meant."""


@dataclass(frozen=True)
class ClientTable:
    """What a client says of its table."""

    rows: int
    columns: Mapping[str, ColumnFacts]
    """In the table's order."""
    class_names: tuple[str, ...]
    """The labels that it has."""


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """`column_sums`: sums over all clients that answered."""

    counts: NDArray[np.int64]
    """(numbers,): values that are there."""
    sums: NDArray[np.float64]
    """(numbers,): of the values, cut off at the bounds, less the centre."""
    squares: NDArray[np.float64]
    """(numbers,): the same of their squares."""
    between: NDArray[np.float64]
    """(numbers,): the squares that there would be if each client had its own mean in all its rows."""
    names: tuple[Mapping[str, int], ...]
    """The names that clients told, of each column of categories, then of each of text, with the rows that have them.

    A client tells a name only where several of its rows have it: so there may be more.
    """
