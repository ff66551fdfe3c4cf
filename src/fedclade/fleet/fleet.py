"""The clients as a server can reach them. Every call of a verb is a trip over the wire.

A method's code therefore shows what the server may learn of a client:

    fleet.train(starts, now)          each client's own model comes back
    fleet.train_mean(starts, now)     only a weighted mean per model comes back, nothing of one client
    fleet.train_best(clients, ...)    the same, and which of several models fits each client best

Requests go out over the transport, replies come back through the gate and into the ledger, and numbers are put
together here: one code for all transports, so that a method gets the same numbers from all of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Assignment, ClientId, Encoding, InputError, Moments, Round, Row, Rows
from fedclade.core.points import require_tunable
from fedclade.core.preparation import Numbers
from fedclade.core.task import Task
from fedclade.fleet.gate import Gate
from fedclade.fleet.ledger import Ledger
from fedclade.fleet.results import (
    ClientMoments,
    ClientTable,
    ColumnFacts,
    ColumnSums,
    Flags,
    Losses,
    Means,
    Scatter,
    Scores,
    Sketches,
    Updates,
)
from fedclade.fleet.transport import Enrolment, Transport
from fedclade.wire import Reply, Request, Verb
from fedclade.wire import columns as wire_columns
from fedclade.wire import verbs as wire
from fedclade.wire.columns import ColumnsFields, NamesAsked, NumbersAsked, SumAsked, SumFields, json_of
from fedclade.wire.message import Fields

NO_ROWS: Rows = np.zeros((0, 0), np.float32)
CHUNK_SIZE = 2**16  # numbers of a model that are added at once
MAX_SCATTER_WIDTH = 2**12  # numbers of an example in `scatter`: 34 MB from each client, 134 MB on the server
Scalar = TypeVar("Scalar", bound=np.generic)


class WeightFiles(Protocol):
    """Encoders, and weights of attention networks, as the server has them: by name, or from a file."""

    def encoder(self, name: str) -> Encoding: ...

    def attention(self, name: str, kind: str) -> Row: ...


@dataclass(frozen=True)
class ModelShape:
    """What a server knows of the net that clients train."""

    parameters: int
    """Numbers in a model."""
    layers: tuple[int, ...]
    """How many of them belong to each trained layer, in their order."""
    task: Task
    """What they learn."""

    @property
    def classes(self) -> int:
        """How many kinds of labels there are."""
        return self.task.label_kinds


@dataclass(frozen=True, eq=False)
class Sketching:
    """How examples become points: by an encoder, which may have weights; or from there by a basis."""

    encoder: str
    """Its name or its file."""
    points: int
    """How many are wanted at the most; 0: from each client as many as it has labels."""
    weights: Row | None = None
    """What clients are sent; None: the encoder's own."""
    epochs: int = 0
    """Epochs of fine-tuning first, at every client."""
    basis: Rows | None = None
    """A middle, then components, (1 + components, numbers of an encoded example): points are places in it."""
    own_components: int = 0
    """Points are places in so many principal components of each client's own examples; 0: they are not."""


Observer = Callable[[Sequence[ClientId], NDArray[np.float32]], None]
"""Gets how alike clients are, (clients, clients), by what a method compares: for the run's metrics alone."""


@dataclass(frozen=True, eq=False)
class Replies:
    """The replies to one call of a verb, in the order of the request."""

    replies: tuple[Reply, ...]

    @property
    def clients(self) -> tuple[ClientId, ...]:
        return tuple(reply.client for reply in self.replies)

    @property
    def examples(self) -> NDArray[np.int64]:
        """How many examples each reply is about, (clients,)."""
        return np.array([reply.examples for reply in self.replies], np.int64)

    @property
    def tokens(self) -> dict[ClientId, int]:
        return {reply.client: int(reply.arrays["token"]) for reply in self.replies}

    def stack(self, name: str, dtype: type[Scalar], *shape: int) -> NDArray[Scalar]:
        """The arrays of this name, which have this shape: (clients, *shape)."""
        table = np.empty((len(self.replies), *shape), dtype)
        for number, reply in enumerate(self.replies):
            table[number] = reply.arrays[name]
        return table

    def by_client(self, name: str, dtype: type[Scalar]) -> dict[ClientId, NDArray[Scalar]]:
        """The array of this name, of any shape, from each client."""
        return {reply.client: np.asarray(reply.arrays[name], dtype) for reply in self.replies}


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
        self.transport.close()

    def begin(self, number: int, observer: Observer | None = None) -> "Fleet":
        """The fleet of this round: the clients that are there now, and a new ledger."""
        refused = self.transport.begin(number)
        return replace(self, ledger=Ledger(refused=list(refused)), observer=observer)

    # -- what is known without asking ---------------------------------------------------------------------------------

    @cached_property
    def enrolments(self) -> Mapping[ClientId, Enrolment]:
        """What each client said of itself when it joined."""
        return self.transport.enrolments()

    def clients(self) -> tuple[ClientId, ...]:
        """The clients that can be asked in this round, in sorted order; newcomers appear here."""
        return tuple(self.enrolments)

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        """How many training examples each client said it has when it joined."""
        return {client: self.enrolments[client].train for client in clients}

    def layers(self) -> tuple[int, ...]:
        """How many numbers of a model belong to each trained layer, in their order."""
        return self.model.layers

    def weights(self, encoder: str) -> Row:
        """All weights of this encoder; none if every client has it."""
        return self.files.encoder(encoder).weights

    def attention(self, network: str, kind: str) -> Row:
        return self.files.attention(network, kind)

    def show_similarities(self, clients: Sequence[ClientId], values: NDArray[np.float32]) -> None:
        """Show the run how alike clients are by what the method compares; nothing is sent, and nothing comes back.

        The run compares it with planted groups, which a method may not know.
        """
        if self.observer is not None:
            self.observer(clients, values)

    # -- the verbs ----------------------------------------------------------------------------------------------------

    def train(self, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
        """Each client trains the model it is assigned; its own model comes back.

        The pull of `now.proximal` is to where a client starts, or to this model.
        """
        rows = one_row_each(starts)
        if towards is not None:
            rows = ((client, np.concatenate([row, towards[None]])) for client, row in rows)
        heard = Replies(tuple(self.ask(wire.TRAIN, rows, wire.TrainFields(), now)))
        models = heard.stack("row", np.float32, self.model.parameters)
        return Updates(heard.clients, models, heard.examples, heard.stack("loss", np.float64))

    def train_mean(self, starts: Assignment, now: Round, encoder: str = "") -> Means:
        """Each client trains the model it is assigned; a mean for each model comes back.

        One sum for each model, whatever the number of clients; double precision, in request order. With the name of an
        encoder the models are weights of that, and are trained to give examples back.
        """
        verb, kind = wire.TRAIN_MEAN, ""
        if encoder:
            verb, kind = wire.TUNE, require_tunable(self.files.encoder(encoder), encoder).kind
        sums = ModelSums(starts.rows)
        for reply in self.ask(verb, one_row_each(starts), wire.TrainFields(encoder=kind), now):
            sums.add(starts.row_by_client[reply.client], reply)
        return sums.means()

    def train_best(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> tuple[Means, Losses]:
        """Each client trains the one of these models that has the lowest loss on its data; means as in `train_mean`.

        The losses that it chose by come back too. One trip: a client trains the copy that it was sent to choose from.
        """
        sums, heard = ModelSums(rows), list[ClientId]()
        losses, examples = list[NDArray[np.float64]](), list[int]()
        for reply in self.ask(wire.TRAIN_BEST, same_rows(clients, rows), wire.NoFields(), now):
            losses.append(np.asarray(reply.arrays["losses"], np.float64))
            sums.add(int(losses[-1].argmin()), reply)
            heard.append(reply.client)
            examples.append(reply.examples)
        table = np.array(losses, np.float64).reshape(len(heard), len(rows))
        return sums.means(), Losses(tuple(heard), table, np.array(examples, np.int64))

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
        """Every model on every client's training data; nothing is trained."""
        heard = Replies(tuple(self.ask(wire.LOSSES, same_rows(clients, rows), wire.NoFields(), now)))
        return Losses(heard.clients, heard.stack("losses", np.float64, len(rows)), heard.examples)

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        """Every client tests the model it is assigned on its own test part."""
        return self._scores(wire.EVALUATE, models, now)

    def validate(self, models: Assignment, now: Round) -> Scores:
        """The same on the training examples that each client sets aside: `now.held_out`."""
        return self._scores(wire.VALIDATE, models, now)

    def _scores(self, verb: Verb[wire.EvaluateFields], models: Assignment, now: Round) -> Scores:
        task = self.model.task
        counts, sums = task.count_width, task.sum_width
        shares = task.kind not in ("regression", "reconstruction", "own")
        fields = wire.EvaluateFields(counts=counts, sums=sums, shares=shares)
        heard = Replies(tuple(self.ask(verb, one_row_each(models), fields, now)))
        return Scores(
            task,
            heard.clients,
            heard.examples,
            heard.stack("loss", np.float64),
            heard.stack("score", np.float64, 2),
            heard.stack("counts", np.int64, counts),
            heard.stack("sums", np.float64, sums),
        )

    def sketch(self, clients: Sequence[ClientId], how: Sketching, now: Round) -> Sketches:
        """Each client encodes its training data and reduces them to at most so many points."""
        found = self.files.encoder(how.encoder)
        rows, width = sketch_rows(found, how)
        fields = wire.SketchFields(
            encoder=found.kind,
            points=how.points or self.model.classes,
            by_label=not how.points,
            features=width,
            epochs=how.epochs,
            own_components=how.own_components,
        )
        heard = Replies(tuple(self.ask(wire.SKETCH, same_rows(clients, rows), fields, now)))
        return Sketches(heard.by_client("points", np.float32), heard.by_client("counts", np.int64), heard.tokens)

    def scatter(self, clients: Sequence[ClientId], encoder: str, now: Round) -> Scatter:
        """The sums of all clients' encoded examples and of their outer products.

        Each reply is added and forgotten, in request order.
        """
        width = require_no_weights(self.files.encoder(encoder), encoder).width
        if width > MAX_SCATTER_WIDTH:
            what, do = "examples are too large for a basis of all", 'method.basis = "own", or smaller examples'
            got, need = f"{width} numbers each", f"at most {MAX_SCATTER_WIDTH}"
            raise InputError(what, where="fleet.scatter", got=got, need=need, do=do)
        total, triangle = np.zeros(width), np.zeros(width * (width + 1) // 2)
        examples, heard = 0, []
        fields = wire.EncodedFields(encoder=encoder, features=width)
        for reply in self.ask(wire.SCATTER, same_rows(clients), fields, now):
            total += np.asarray(reply.arrays["total"], np.float64)
            triangle += np.asarray(reply.arrays["products"], np.float64)
            examples += reply.examples
            heard.append(reply.client)
        products = np.zeros((width, width))
        products[np.triu_indices(width)] = triangle
        return Scatter(examples, total, products + np.triu(products, 1).T, tuple(heard))

    def moments(
        self, clients: Sequence[ClientId], encoder: str, min_examples: int, noise: float, now: Round
    ) -> ClientMoments:
        """Count, mean and variance of every label with so many examples, from each client, in this encoding.

        Where a number is learned, the mean of all examples times their numbers comes last.
        """
        width, form = require_no_weights(self.files.encoder(encoder), encoder).width, self.model.task.labels
        fields = wire.MomentFields(
            encoder=encoder,
            features=width,
            classes=self.model.classes,
            overlap=form == "flags",
            products=form == "number",
            min_examples=min_examples,
            noise=noise,
        )
        heard = Replies(tuple(self.ask(wire.MOMENTS, same_rows(clients), fields, now)))
        rows = fields.rows
        counts, variances = heard.stack("counts", np.int64, rows), heard.stack("variances", np.float32, rows)
        means = heard.stack("means", np.float32, rows, width)
        return ClientMoments(Moments(heard.clients, counts, means, variances, fields.products), heard.tokens)

    def data_changed(self, tokens: Mapping[ClientId, int], now: Round) -> Flags:
        """Each client says whether its training data are others than those of this token."""
        each = {client: wire.ChangedFields(token=token) for client, token in tokens.items()}
        heard = self.ask(wire.CHANGED, same_rows(tokens), each.__getitem__, now)
        return Flags({reply.client: bool(reply.arrays["changed"]) for reply in heard})

    # -- the columns of tables ----------------------------------------------------------------------------------------

    def columns(self, clients: Sequence[ClientId], now: Round, *, tell_classes: bool) -> dict[ClientId, ClientTable]:
        """What each client says of the columns of its table."""
        heard = self.ask(wire_columns.COLUMNS, same_rows(clients), ColumnsFields(tell_classes=tell_classes), now)
        return {reply.client: client_table(reply) for reply in heard}

    def column_counts(
        self,
        clients: Sequence[ClientId],
        numbers: Sequence[tuple[Numbers, Sequence[float]]],
        now: Round,
        *,
        names: Sequence[tuple[str, Sequence[str]]] = (),
        class_names: Sequence[str] = (),
    ) -> list[NDArray[np.int64]]:
        """How often the values of columns occur, of all clients together, by label.

        For numbers with thresholds (thresholds + 1, labels): up to each one and above the one before. For a column with
        names (names + 1, labels): rows that have each, and those that have another. Those of numbers come first.
        """
        asked: list[NumbersAsked | NamesAsked] = [
            NumbersAsked(
                column=each.column, of=each.of, part=each.part, order=each.order, thresholds=tuple(map(float, limits))
            )
            for each, limits in numbers
        ]
        asked += [NamesAsked(column=column, names=tuple(known)) for column, known in names]
        tables: list[NDArray[np.int64]] = []
        for fields in wire_columns.count_blocks(asked, class_names):
            lengths = wire_columns.cells_of(fields)
            total = np.zeros((sum(lengths), max(len(class_names), 1)), np.int64)
            for reply in self.ask(wire_columns.COLUMN_COUNTS, same_rows(clients), fields, now):
                total += np.asarray(reply.arrays["counts"], np.int64)
            tables += np.split(total, np.cumsum(lengths)[:-1])
        return tables

    def column_sums(
        self,
        clients: Sequence[ClientId],
        numbers: Sequence[tuple[Numbers, float, float, float]],
        now: Round,
        *,
        categories: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> ColumnSums:
        """Sums of numbers, each with its lower and upper bound and a centre; and the names of frequent categories."""
        asked = [
            SumAsked(
                column=each.column, of=each.of, part=each.part, order=each.order, low=low, high=high, centre=centre
            )
            for each, low, high, centre in numbers
        ]
        fields = SumFields(numbers=tuple(asked), categories=tuple(categories), texts=tuple(texts))
        counts = np.zeros(len(asked), np.int64)
        sums, squares, between = np.zeros((3, len(asked)))
        names = [Counter[str]() for _ in (*categories, *texts)]
        for reply in self.ask(wire_columns.COLUMN_SUMS, same_rows(clients), fields, now):
            counts += np.asarray(reply.arrays["counts"], np.int64)
            own = np.asarray(reply.arrays["sums"], np.float64)
            sums += own
            between += own**2 / np.maximum(np.asarray(reply.arrays["counts"], np.int64), 1)
            squares += np.asarray(reply.arrays["squares"], np.float64)
            for total, counted in zip(names, names_in(reply), strict=True):
                total.update(counted)
        return ColumnSums(counts, sums, squares, between, tuple(names))

    # -- one trip -----------------------------------------------------------------------------------------------------

    def ask(
        self,
        verb: Verb[Fields],
        rows: Iterable[tuple[ClientId, Rows]],
        fields: Fields | Callable[[ClientId], Fields],
        now: Round,
    ) -> Iterator[Reply]:
        """The replies that the gate lets through, in the order of the request; all of it in the ledger.

        `fields` are those of all clients, or a function that gives each its own.
        """
        own: Any = fields if callable(fields) else lambda _: fields
        requests = {client: Request(verb, client, now, sent, own(client)) for client, sent in rows}
        for client in requests:
            if client not in self.enrolments:
                where = f"fleet.{verb.name}"
                raise InputError(f'there is no client "{client}"', where=where, need="a client of the fleet")
        self.ledger.record_requests(verb, requests)
        gate, heard = Gate(requests, self.enrolments), set()
        waits = perf_counter()
        for reply in gate.admit(self.transport.carry(requests)):
            self.ledger.seconds += perf_counter() - waits
            if verb.is_kept(reply):
                self.ledger.record_reply(verb, reply)
                heard.add(reply.client)
                yield reply
            waits = perf_counter()
        self.ledger.seconds += perf_counter() - waits
        self.ledger.record_missing(verb, requests, heard, gate.refusals)


def client_table(reply: Reply) -> ClientTable:
    """What a client said of its table; the gate has checked it."""
    names, faults, classes = (json_of(reply.arrays[name]) for name in ("names", "faults", "classes"))
    assert isinstance(names, list)
    assert isinstance(faults, list)
    assert isinstance(classes, list)
    numbers = (reply.arrays[name].tolist() for name in ("kinds", "filled", "different", "words", "flags"))
    columns = {
        name: ColumnFacts(wire_columns.KINDS[kind], fault, filled, different, words, *flags)
        for name, fault, kind, filled, different, words, flags in zip(names, faults, *numbers, strict=True)
    }
    return ClientTable(reply.examples, columns, tuple(classes))


def names_in(reply: Reply) -> list[dict[str, int]]:
    """The names that a client told; the gate has checked them."""
    found = json_of(reply.arrays["names"])
    assert isinstance(found, list)
    return found


class ModelSums:
    """Sums of trained models, one for each model that was sent out: replies are added and forgotten."""

    def __init__(self, sent: Rows) -> None:
        self._sent = sent
        self._sums = np.zeros(sent.shape, np.float64)
        self._examples = np.zeros(len(sent), np.int64)
        self._heard: list[ClientId] = []
        self._loss = 0.0

    def add(self, number: int, reply: Reply) -> None:
        """Add what a client made of the model of this number."""
        add_weighted(self._sums[number], np.asarray(reply.arrays["row"], np.float32), reply.examples)
        self._examples[number] += reply.examples
        self._heard.append(reply.client)
        self._loss += float(reply.arrays["loss"]) * reply.examples

    def means(self) -> Means:
        answered, total = self._examples > 0, int(self._examples.sum())
        rows = np.array(self._sent)
        rows[answered] = self._sums[answered] / self._examples[answered, None]
        return Means(rows, self._examples, tuple(self._heard), self._loss / total if total else float("nan"))


def one_row_each(models: Assignment) -> Iterator[tuple[ClientId, Rows]]:
    """Each client with the one model that it is sent, (1, parameters)."""
    plain = models.in_rows()
    return ((client, plain.rows[row : row + 1]) for client, row in plain.row_by_client.items())


def same_rows(clients: Iterable[ClientId], rows: Rows = NO_ROWS) -> Iterator[tuple[ClientId, Rows]]:
    """Each client with the same rows, or with none."""
    return ((client, rows) for client in clients)


def add_weighted(total: NDArray[np.float64], row: Row, weight: int) -> None:
    """Add a weighted model to its sum, in place; piece by piece, so that what is multiplied stays in a near cache."""
    for start in range(0, len(row), CHUNK_SIZE):
        total[start : start + CHUNK_SIZE] += np.multiply(row[start : start + CHUNK_SIZE], weight, dtype=np.float64)


def sketch_rows(found: Encoding, how: Sketching) -> tuple[Rows, int]:
    """The rows that clients are sent, and how many numbers a point has.

    Weights that do not encode are sent only where clients fine-tune.
    """
    if how.basis is not None or how.own_components:
        require_no_weights(found, how.encoder)
    if how.basis is not None:
        form = how.basis.shape
        if len(form) != 2 or form[1] != found.width or form[0] < 2:
            need = f"(1 + components, {found.width})"
            raise InputError("a basis does not fit", where="fleet.sketch", got=str(form), need=need)
        return how.basis, form[0] - 1
    if how.epochs:
        require_tunable(found, how.encoder)
    weights = found.weights if how.weights is None else how.weights
    sent = weights if how.epochs else weights[found.encoder_weights]
    return sent[None] if len(sent) else NO_ROWS, how.own_components or found.width


def require_no_weights(found: Encoding, name: str) -> Encoding:
    """An encoder that every client has, or an error."""
    if len(found.weights):
        raise InputError(f"encoder {name} has weights", need="one that every client has")
    return found
