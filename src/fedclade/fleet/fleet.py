"""The clients as a server can reach them. Every call of a verb is a trip over the wire.

A method's code therefore shows what the server may learn of a client:

    fleet.train(starts, now)          each client's own model comes back
    fleet.train_mean(starts, now)     only a weighted mean per model comes back, nothing of one client

Requests go out over the transport, replies come back through the gate and into the ledger, and numbers are put
together here: one code for all transports, so that a method gets the same numbers from all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fedclade.fleet.gate import Gate
from fedclade.fleet.ledger import Ledger
from fedclade.fleet.results import Described, Flags, Losses, Means, Scatter, Scores, Sketches, Updates
from fedclade.fleet.transport import Enrolment, Transport
from fedclade.nouns import Assignment, ClientId, Encoding, InputError, Moments, Round, Row, Rows
from fedclade.nouns.points import tunable
from fedclade.wire import Reply, Request, Verb
from fedclade.wire import verbs as wire
from fedclade.wire.message import Fields

NOTHING: Rows = np.zeros((0, 0), np.float32)
PIECE = 2**16  # numbers of a model that are added at once
WIDEST = (
    2**12
)  # numbers of an example whose products are summed: 34 MB from each client, and their square on the server


class WeightFiles(Protocol):
    """Encoders and attention networks as the server has them."""

    def encoder(self, name: str) -> Encoding:
        """The one of this name, or in this file."""
        ...

    def attention(self, name: str, kind: str) -> Row:
        """The weights of the network of this name, or in this file; of this kind."""
        ...


@dataclass(frozen=True)
class ModelShape:
    """What a server knows of the net that clients train."""

    parameters: int
    """Numbers in a model."""
    layers: tuple[int, ...]
    """How many of them belong to each trained layer, in their order."""
    classes: int
    """How many labels there are."""


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


Observer = Callable[[Sequence[ClientId], NDArray[np.float32]], None]
"""Shown how alike clients are, (clients, clients), by what a method compares: for the run's metrics alone."""


@dataclass(frozen=True, eq=False)
class Fleet:
    """All clients of a run, over one transport, with a ledger of what crossed it."""

    transport: Transport
    model: ModelShape
    files: WeightFiles
    ledger: Ledger = field(default_factory=Ledger)
    observer: Observer | None = None

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the transport."""
        self.transport.close()

    def begin(self, number: int, observer: Observer | None = None) -> "Fleet":
        """The fleet of this round: the clients that are there now, and a new ledger."""
        refused = self.transport.begin(number)
        return replace(self, ledger=Ledger(refused=list(refused)), observer=observer)

    # -- what is known without asking ---------------------------------------------------------------------------------

    @cached_property
    def enrolled(self) -> Mapping[ClientId, Enrolment]:
        """What each client said of itself when it joined."""
        return self.transport.enrolled()

    @cached_property
    def _clients(self) -> tuple[ClientId, ...]:
        return tuple(self.enrolled)

    def clients(self) -> tuple[ClientId, ...]:
        """The clients that can be asked in this round, in sorted order; newcomers appear here."""
        return self._clients

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        """How many training examples each client said it has when it joined."""
        return {client: self.enrolled[client].train for client in clients}

    def layers(self) -> tuple[int, ...]:
        """How many numbers of a model belong to each trained layer, in their order."""
        return self.model.layers

    def weights(self, encoder: str) -> Row:
        """All weights of this encoder; none if every client has it."""
        return self.files.encoder(encoder).weights

    def attention(self, network: str, kind: str) -> Row:
        """The weights of this attention network, of this kind."""
        return self.files.attention(network, kind)

    def show_similarities(self, clients: Sequence[ClientId], values: NDArray[np.float32]) -> None:
        """Show the run how alike clients are by what the method compares: it may know planted groups, a method may not.

        Nothing is sent, nothing is kept, and nothing comes back.
        """
        if self.observer is not None:
            self.observer(clients, values)

    # -- the verbs ----------------------------------------------------------------------------------------------------

    def train(self, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
        """Each client trains the model it is assigned; its own model comes back.

        The pull of `now.proximal` is to where a client starts, or to this model.
        """
        models = models_of(starts)
        if towards is not None:
            models = ((client, np.concatenate([row, towards[None]])) for client, row in models)
        heard = list(self.ask(wire.TRAIN, models, wire.TrainFields(), now))
        return Updates(
            clients=clients_of(heard),
            rows=np.stack([np.asarray(reply.arrays["row"], np.float32) for reply in heard])
            if heard
            else np.zeros((0, self.model.parameters), np.float32),
            examples=examples_of(heard),
            losses=np.array([reply.arrays["loss"] for reply in heard], np.float64),
        )

    def train_mean(self, starts: Assignment, now: Round, encoder: str = "") -> Means:
        """Each client trains the model it is assigned; a mean for each model comes back.

        One sum for each model, whatever the number of clients; double precision, in request order. With the name of an
        encoder the models are weights of that, and are trained to give examples back.
        """
        sums = np.zeros(starts.rows.shape, np.float64)
        examples = np.zeros(len(starts.rows), np.int64)
        heard: list[ClientId] = []
        loss = 0.0
        verb, fields = wire.TRAIN_MEAN, wire.TrainFields()
        if encoder:
            verb, fields = wire.TUNE, wire.TrainFields(encoder=tunable(self.files.encoder(encoder), encoder).kind)
        for reply in self.ask(verb, models_of(starts), fields, now):
            home = starts.home[reply.client]
            add_weighted(sums[home], np.asarray(reply.arrays["row"], np.float32), reply.examples)
            examples[home] += reply.examples
            heard.append(reply.client)
            loss += float(reply.arrays["loss"]) * reply.examples
        answered = examples > 0
        rows = np.array(starts.rows)
        rows[answered] = sums[answered] / examples[answered, None]
        total = int(examples.sum())
        return Means(rows, examples, tuple(heard), loss / total if total else float("nan"))

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
        """Every model on every client's training data; nothing is trained."""
        heard = list(self.ask(wire.LOSSES, ((client, rows) for client in clients), wire.NoFields(), now))
        table = np.array([reply.arrays["losses"] for reply in heard], np.float64).reshape(len(heard), len(rows))
        return Losses(clients_of(heard), table, examples_of(heard))

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        """Every client tests the model it is assigned on its own test part."""
        heard = list(self.ask(wire.EVALUATE, models_of(models), wire.NoFields(), now))
        return Scores(
            clients=clients_of(heard),
            correct=np.array([reply.arrays["correct"] for reply in heard], np.int64),
            examples=examples_of(heard),
            losses=np.array([reply.arrays["loss"] for reply in heard], np.float64),
        )

    def sketch(self, clients: Sequence[ClientId], how: Sketching, now: Round) -> Sketches:
        """Each client encodes its training data and reduces them to at most so many points."""
        found = self.files.encoder(how.encoder)
        rows, width = sent_for(found, how)
        fields = wire.SketchFields(
            encoder=found.kind, points=how.points, features=width, epochs=how.epochs, own=how.own
        )
        heard = list(self.ask(wire.SKETCH, ((client, rows) for client in clients), fields, now))
        return Sketches(
            points={reply.client: np.asarray(reply.arrays["points"], np.float32) for reply in heard},
            counts={reply.client: np.asarray(reply.arrays["counts"], np.int64) for reply in heard},
            tokens=tokens_of(heard),
        )

    def scatter(self, clients: Sequence[ClientId], encoder: str, now: Round) -> Scatter:
        """The sums of all clients' encoded examples and of their outer products.

        Each reply is added and forgotten, in request order.
        """
        width = without_weights(self.files.encoder(encoder), encoder).width
        if width > WIDEST:
            raise InputError(
                "examples are too large for a basis of all",
                where="fleet.scatter",
                got=f"{width} numbers each",
                need=f"at most {WIDEST}",
                do='method.basis = "own", or smaller examples',
            )
        total, triangle = np.zeros(width), np.zeros(width * (width + 1) // 2)
        examples, heard = 0, []
        fields = wire.EncodedFields(encoder=encoder, features=width)
        for reply in self.ask(wire.SCATTER, without_models(clients), fields, now):
            total += np.asarray(reply.arrays["total"], np.float64)
            triangle += np.asarray(reply.arrays["products"], np.float64)
            examples += reply.examples
            heard.append(reply.client)
        products = np.zeros((width, width))
        products[np.triu_indices(width)] = triangle
        return Scatter(examples, total, products + np.triu(products, 1).T, tuple(heard))

    def moments(self, clients: Sequence[ClientId], encoder: str, fewest: int, noise: float, now: Round) -> Described:
        """Each client tells count, mean and variance of every label with so many examples, in this encoding."""
        width, classes = without_weights(self.files.encoder(encoder), encoder).width, self.model.classes
        fields = wire.MomentFields(encoder=encoder, features=width, classes=classes, fewest=fewest, noise=noise)
        heard = list(self.ask(wire.MOMENTS, without_models(clients), fields, now, keep=tells_of_a_label))
        moments = Moments(
            clients_of(heard),
            np.array([reply.arrays["counts"] for reply in heard], np.int64).reshape(len(heard), classes),
            np.array([reply.arrays["means"] for reply in heard], np.float32).reshape(len(heard), classes, width),
            np.array([reply.arrays["variances"] for reply in heard], np.float32).reshape(len(heard), classes),
        )
        return Described(moments, tokens_of(heard))

    def changed(self, tokens: Mapping[ClientId, int], now: Round) -> Flags:
        """Each client says whether its training data are still those of this token."""
        each = {client: wire.ChangedFields(token=token) for client, token in tokens.items()}
        heard = self.ask(wire.CHANGED, without_models(tokens), each.__getitem__, now)
        return Flags({reply.client: bool(reply.arrays["changed"]) for reply in heard})

    # -- one trip -----------------------------------------------------------------------------------------------------

    def ask(
        self,
        verb: Verb[Fields],
        rows: Iterable[tuple[ClientId, Rows]],
        fields: Fields | Callable[[ClientId], Fields],
        now: Round,
        keep: Callable[[Reply], bool] = lambda _: True,
    ) -> Iterator[Reply]:
        """The replies that the gate lets through, in the order of the request; all of it in the ledger.

        `fields` are those of all clients, or a function that gives each its own. A reply that is not kept is as good
        as none.
        """
        own: Any = fields if callable(fields) else lambda _: fields
        requests = {client: Request(verb, client, now, sent, own(client)) for client, sent in rows}
        for client in requests:
            if client not in self.enrolled:
                raise InputError(
                    f'there is no client "{client}"', where=f"fleet.{verb.name}", need="a client of the fleet"
                )
        self.ledger.book_requests(verb, requests)
        gate, heard = Gate(requests, self.enrolled), set()
        waits = perf_counter()
        for reply in gate.admit(self.transport.carry(requests)):
            self.ledger.seconds += perf_counter() - waits
            if keep(reply):
                self.ledger.book_reply(verb, reply)
                heard.add(reply.client)
                yield reply
            waits = perf_counter()
        self.ledger.seconds += perf_counter() - waits
        self.ledger.book_missing(verb, requests, heard, gate.refused)


def models_of(models: Assignment) -> Iterator[tuple[ClientId, Rows]]:
    """Each client with the one model that it is sent, (1, parameters)."""
    return ((client, models.rows[row : row + 1]) for client, row in models.home.items())


def without_models(clients: Iterable[ClientId]) -> Iterator[tuple[ClientId, Rows]]:
    """Each client, with nothing sent along."""
    return ((client, NOTHING) for client in clients)


def clients_of(heard: Sequence[Reply]) -> tuple[ClientId, ...]:
    """Whose replies these are."""
    return tuple(reply.client for reply in heard)


def examples_of(heard: Sequence[Reply]) -> NDArray[np.int64]:
    """How many examples each reply is about."""
    return np.array([reply.examples for reply in heard], np.int64)


def tokens_of(heard: Sequence[Reply]) -> dict[ClientId, int]:
    """By which each client knows its data again."""
    return {reply.client: int(reply.arrays["token"]) for reply in heard}


def tells_of_a_label(reply: Reply) -> bool:
    """Whether moments are those of any example."""
    return bool(reply.arrays["counts"].any())


def add_weighted(total: NDArray[np.float64], row: Row, weight: int) -> None:
    """Add a weighted model to its sum, in place; piece by piece, so that what is multiplied stays in a near cache."""
    for start in range(0, len(row), PIECE):
        total[start : start + PIECE] += np.multiply(row[start : start + PIECE], weight, dtype=np.float64)


def sent_for(found: Encoding, how: Sketching) -> tuple[Rows, int]:
    """What clients are sent along, and how many numbers a point has.

    What does not encode is sent only where clients fine-tune.
    """
    if how.basis is not None or how.own:
        without_weights(found, how.encoder)
    if how.basis is not None:
        form = how.basis.shape
        if len(form) != 2 or form[1] != found.width or form[0] < 2:
            need = f"(1 + components, {found.width})"
            raise InputError("a basis does not fit", where="fleet.sketch", got=str(form), need=need)
        return how.basis, form[0] - 1
    if how.epochs:
        tunable(found, how.encoder)
    weights = found.weights if how.weights is None else how.weights
    sent = weights if how.epochs else weights[: found.part]
    return sent[None] if len(sent) else NOTHING, how.own or found.width


def without_weights(found: Encoding, name: str) -> Encoding:
    """An encoder that every client has, or an error."""
    if len(found.weights):
        raise InputError(f"encoder {name} has weights", need="one that every client has")
    return found
