"""The clients as a server can reach them: verbs, what is asked, what comes back.

Every call of a verb is a trip over the wire. A method's code therefore shows what the server may learn of a client:

    fleet.train(starts, now)          each client's own model comes back
    fleet.train_mean(starts, now)     only a weighted mean per model comes back, nothing of one client

Replies stand in the order of the request, whoever answered first. Who did not answer, or answered with something that
the gate refused, is not among them: a method goes on with who is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Assignment, ClientId, Moments, Round, Row, Rows

Verb = Literal["train", "losses", "evaluate", "sketch", "scatter", "moments", "changed"]


@dataclass(frozen=True, eq=False)
class Ask:
    """One request to one client."""

    verb: Verb
    client: ClientId
    now: Round
    rows: Rows
    """The models sent along, (models, parameters); train: the start, and where it is pulled to if not there.

    sketch: the encoder's weights as one row, or the middle and the components of a basis, (1 + components, numbers of
    an encoded example); none if every client has what it needs.
    """
    encoder: str = ""
    """sketch, scatter, moments: how examples become points; train: it is an encoder of this kind that is trained."""
    points: int = 0
    """sketch: how many points are wanted at the most."""
    features: int = 0
    """sketch, scatter, moments: how many numbers a point has."""
    own: int = 0
    """sketch: in so many principal components of the client's own examples; 0: not."""
    classes: int = 0
    """moments: how many labels there are."""
    fewest: int = 1
    """moments: a label with fewer examples is not told."""
    noise: float = 0.0
    """moments: so many standard errors of noise are added to every mean."""
    token: int = 0
    """changed: what the client last said of its data."""
    epochs: int = 0
    """sketch: of fine-tuning the encoder first."""

    def plain(self) -> dict[str, object]:
        """Everything but the round and the models, as JSON can hold it."""
        return {name: value for name, value in vars(self).items() if name not in ("now", "rows")}


@dataclass(frozen=True, eq=False)
class Reply:
    """One answer of one client, not yet to be trusted."""

    verb: Verb
    client: ClientId
    round: int
    examples: int
    """How many examples it is about."""
    arrays: Mapping[str, NDArray[np.generic]]
    """What the verb gives: see `gate.expected`."""


@dataclass(frozen=True)
class Refusal:
    """A reply that the gate did not let through, or that there is none of."""

    client: ClientId
    verb: str
    """The verb that was asked, or "enrol"."""
    reason: str


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
    refused: tuple[Refusal, ...] = ()

    @property
    def loss(self) -> float:
        """Mean training loss over all examples heard of; NaN if nobody answered."""
        return float(np.average(self.losses, weights=self.examples)) if self.clients else float("nan")


@dataclass(frozen=True, eq=False)
class Means:
    """`train_mean`: for every model sent out, the mean of what came back, weighted by examples."""

    rows: Rows
    """(models, parameters); a model that nobody answered for is as it was sent."""
    examples: NDArray[np.int64]
    """How many examples stand behind each row; 0: nobody answered."""
    heard: tuple[ClientId, ...]
    loss: float
    """Mean training loss over all examples heard of; NaN if nobody answered."""
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, eq=False)
class Losses:
    """`losses`: the mean training loss of every model on every client's data."""

    clients: tuple[ClientId, ...]
    table: NDArray[np.float64]
    """(clients, models)"""
    examples: NDArray[np.int64]
    refused: tuple[Refusal, ...] = ()

    def best_row(self) -> dict[ClientId, int]:
        """The model with the lowest loss for each client; the first of equals."""
        return {client: int(row) for client, row in zip(self.clients, self.table.argmin(axis=1), strict=True)}


@dataclass(frozen=True, eq=False)
class Scores:
    """`evaluate`: how every client's model does on its own test part."""

    clients: tuple[ClientId, ...]
    correct: NDArray[np.int64]
    examples: NDArray[np.int64]
    losses: NDArray[np.float64]
    """Mean test loss."""
    refused: tuple[Refusal, ...] = ()

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """(clients,) from 0 to 1."""
        share: NDArray[np.float64] = self.correct / self.examples
        return share


@dataclass(frozen=True, eq=False)
class Sketching:
    """How examples become points: by an encoder, which may have weights; or from there by a basis."""

    encoder: str
    """Its name or its file."""
    points: int
    """How many are wanted at the most."""
    weights: Row | None = None
    """What clients are sent; None: the encoder's own."""
    epochs: int = 0
    """So many of fine-tuning first, at every client."""
    basis: Rows | None = None
    """A middle, then components, (1 + components, numbers of an encoded example): points are places in it."""
    own: int = 0
    """The same in so many principal components of each client's own."""


@dataclass(frozen=True, eq=False)
class Sketches:
    """`sketch`: a few points that stand for each client's data."""

    points: Mapping[ClientId, NDArray[np.float32]]
    """(points, features) of each client."""
    counts: Mapping[ClientId, NDArray[np.int64]]
    """How many examples each point stands for."""
    tokens: Mapping[ClientId, int]
    """As in Described."""
    sent: int = 0
    """Weights that went to each client that was asked."""
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, eq=False)
class Scatter:
    """`scatter`: sums over all examples of all clients that answered, nothing of one client."""

    examples: int
    total: NDArray[np.float64]
    """(features,): the sum of the encoded examples."""
    products: NDArray[np.float64]
    """(features, features): the sum of their outer products."""
    heard: tuple[ClientId, ...]
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, eq=False)
class Described:
    """`moments`: the class moments of each client's data."""

    moments: Moments
    """Of who answered and told of a label."""
    tokens: Mapping[ClientId, int]
    """By which each client knows these data again; it says nothing about them."""
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, eq=False)
class Flags:
    """`changed`: who says that its data are others than those of its token."""

    raised: Mapping[ClientId, bool]
    refused: tuple[Refusal, ...] = ()


class Fleet(Protocol):
    """The clients as a method can reach them."""

    def clients(self) -> tuple[ClientId, ...]:
        """Who can be asked now, in sorted order; newcomers appear here."""
        ...

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        """How many training examples each client said it has when it joined. Nothing is sent for this."""
        ...

    def layers(self) -> tuple[int, ...]:
        """How many numbers of a model belong to each trained layer, in their order. Nothing is sent for this."""
        ...

    def train(self, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
        """Each client trains the model it is assigned; its own model comes back.

        The pull of `now.proximal` is to where a client starts, or to this model.
        """
        ...

    def train_mean(self, starts: Assignment, now: Round, encoder: str = "") -> Means:
        """Each client trains the model it is assigned; a mean for each model comes back.

        With the name of an encoder the models are weights of that, and are trained to give examples back.
        """
        ...

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
        """Every model on every client's training data; nothing is trained."""
        ...

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        """Every client tests the model it is assigned on its own test part."""
        ...

    def weights(self, encoder: str) -> Row:
        """All weights of this encoder as the server has them; none if every client has it. Nothing is sent for this."""
        ...

    def attention(self, network: str, kind: str) -> Row:
        """The weights of this attention network, of this kind, as the server has them. Nothing is sent for this."""
        ...

    def scatter(self, clients: Sequence[ClientId], encoder: str, now: Round) -> Scatter:
        """The sums of all clients' encoded examples and of their outer products."""
        ...

    def sketch(self, clients: Sequence[ClientId], how: Sketching, now: Round) -> Sketches:
        """Each client encodes its training data and reduces them to at most so many points."""
        ...

    def moments(self, clients: Sequence[ClientId], encoder: str, fewest: int, noise: float, now: Round) -> Described:
        """Each client tells count, mean and variance of every label with so many examples, in this encoding."""
        ...

    def changed(self, tokens: Mapping[ClientId, int], now: Round) -> Flags:
        """Each client says whether its training data are still those of this token."""
        ...
