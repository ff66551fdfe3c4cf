"""What a client does when it is asked: a handler for every verb of the table.

A handler gets the client, the request and the data, and gives the number of examples and the arrays of the reply.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedclade.client.class_weights import class_weights_for
from fedclade.client.columns import count_values, describe_columns, sum_values
from fedclade.client.encoder_tuning import tune_encoder
from fedclade.client.examples import draw_steps, training_part, validation_part
from fedclade.client.general import RowAndLoss, Training
from fedclade.client.moments import add_noise, moments, noise_rng, token_of
from fedclade.client.principal_components import choose_projection, scatter
from fedclade.client.sketch import sketch
from fedclade.core import InputError
from fedclade.data import ClientData
from fedclade.nets.encoders import NO_WEIGHTS, encoder_named
from fedclade.wire import Arrays, Request, Verb
from fedclade.wire import columns as wire_columns
from fedclade.wire import verbs as wire
from fedclade.wire.message import AnyRequest

if TYPE_CHECKING:
    from fedclade.client.client import Client

Fields = TypeVar("Fields")
ReplyContent: TypeAlias = tuple[int, Arrays]
"""How many examples a reply is about, and its arrays."""
Handler: TypeAlias = Callable[["Client", Request[Fields], ClientData], ReplyContent]
HANDLERS: dict[str, Callable[..., ReplyContent]] = {}
"""By the name of the verb."""


def handles(verb: Verb[Fields]) -> Callable[[Handler[Fields]], Handler[Fields]]:
    """Make a function the handler of this verb."""

    def register(handler: Handler[Fields]) -> Handler[Fields]:
        HANDLERS[verb.name] = handler
        return handler

    return register


@handles(wire.TRAIN)
def train(client: "Client", request: Request[wire.TrainFields], data: ClientData) -> ReplyContent:
    now, encoder = request.now, request.fields.encoder
    if encoder:
        tuned = tune_encoder(encoder, request.rows[0], data.train, now.local.epochs, now, request.client)
        return len(data.train), training_arrays(tuned)
    order = training_order(client, request, data)
    return order.reply(client.path_for(now).train(order.training))


@handles(wire.TRAIN_BEST)
def train_best(client: "Client", request: Request[wire.NoFields], data: ClientData) -> ReplyContent:
    order = training_order(client, request, data)
    return order.reply(client.path_for(request.now).train(order.training))


def training_arrays(trained: RowAndLoss) -> dict[str, NDArray[np.generic]]:
    row, loss = trained
    return {"row": row, "loss": np.array(loss, np.float64)}


@dataclass(frozen=True, eq=False)
class TrainingOrder:
    """What a client trains in this round, and what its reply says beside the model."""

    training: Training
    examples: int
    """How many examples it may train on."""
    arrays: Arrays

    def reply(self, trained: RowAndLoss) -> ReplyContent:
        return self.examples, {**training_arrays(trained), **self.arrays}


def training_order(client: "Client", request: AnyRequest, data: ClientData) -> TrainingOrder:
    """What a request to train means for these data: of several models, the one with the lowest loss is trained."""
    rows, arrays = request.rows, dict[str, NDArray[np.generic]]()
    if request.verb.name == wire.TRAIN_BEST.name:
        table = losses(client, request, data)[1]["losses"]
        rows, arrays = rows[[int(table.argmin())]], {"losses": table}
    part = training_part(data.train, request.now, request.client)
    this_round, how = draw_steps(part, request.now, request.client)
    towards = rows[1] if len(rows) > 1 else None
    weights = class_weights_for(client.task, how.local, part.labels)
    return TrainingOrder(Training(rows[0], this_round, how, request.client, towards, weights), len(part), arrays)


@handles(wire.LOSSES)
def losses(client: "Client", request: Request[wire.NoFields], data: ClientData) -> ReplyContent:
    part = validation_part(data.train, request.now, request.client)
    return len(part), {"losses": client.path.losses(request.rows, part)}


@handles(wire.VALIDATE)
@handles(wire.EVALUATE)
def evaluate(client: "Client", request: Request[wire.EvaluateFields], data: ClientData) -> ReplyContent:
    found = client.evaluate(request.rows[0], data.test)
    arrays = {"score": found.score, "counts": found.counts, "sums": found.sums}
    return len(data.test), {"loss": np.array(found.loss, np.float64), **arrays}


@handles(wire.SKETCH)
def points(client: "Client", request: Request[wire.SketchFields], data: ClientData) -> ReplyContent:
    asked, rows = request.fields, request.rows
    basis = rows if len(rows) > 1 else rows[:0]
    weights = rows[0] if len(rows) == 1 else NO_WEIGHTS
    always = replace(request.now, number=0)  # the same examples have the same points in every round
    if asked.epochs:
        weights, _ = tune_encoder(asked.encoder, weights, data.train, asked.epochs, always, request.client)
    encoded = encoder_named(asked.encoder, weights).encode(data.train.inputs)
    placed = choose_projection(basis, asked.own_components)(encoded)
    kinds = client.task.kinds_of(data.train.labels).any(axis=0) if asked.by_label else ()
    own_labels = int(np.sum(kinds)) if asked.by_label else asked.points
    found, counts = sketch(placed, min(asked.points, own_labels), always.generator("sketch", request.client))
    return len(data.train), {"points": found, "counts": counts, "token": token(request, data)}


@handles(wire.SCATTER)
def sums(_client: "Client", request: Request[wire.EncodedFields], data: ClientData) -> ReplyContent:
    total, products = scatter(data.train, request.fields.encoder)
    return len(data.train), {"total": total, "products": products}


@handles(wire.MOMENTS)
def label_moments(client: "Client", request: Request[wire.MomentFields], data: ClientData) -> ReplyContent:
    asked = request.fields
    # Noise is as large as examples differ: one example does not.
    min_examples = max(asked.min_examples, 2) if asked.noise else asked.min_examples
    if client.task.label_kinds != asked.classes:
        got, need = str(asked.classes), str(client.task.label_kinds)
        raise InputError("there are other kinds of labels", where="moments", got=got, need=need)
    labels = data.train.labels
    numbers = client.task.numbers_of(labels) if asked.products else None
    own = moments(data.train, asked.encoder, client.task.kinds_of(labels), min_examples, numbers)
    counts, means, variances = add_noise(own, asked.noise, noise_rng(data.train, request.client))
    arrays: Arrays = {"counts": counts, "means": means, "variances": variances, "token": token(request, data)}
    return len(data.train), arrays


@handles(wire.CHANGED)
def data_changed(_client: "Client", request: Request[wire.ChangedFields], data: ClientData) -> ReplyContent:
    return len(data.train), {"changed": np.array(int(token(request, data)) != request.fields.token)}


@handles(wire_columns.COLUMNS)
def columns(_client: "Client", request: Request[wire_columns.ColumnsFields], data: ClientData) -> ReplyContent:
    return len(data.train), describe_columns(request, data)


@handles(wire_columns.COLUMN_COUNTS)
def column_counts(_client: "Client", request: Request[wire_columns.CountFields], data: ClientData) -> ReplyContent:
    return len(data.train), count_values(request, data)


@handles(wire_columns.COLUMN_SUMS)
def column_sums(_client: "Client", request: Request[wire_columns.SumFields], data: ClientData) -> ReplyContent:
    return len(data.train), sum_values(request, data)


def token(request: Request[Fields], data: ClientData) -> np.ndarray[tuple[()], np.dtype[np.int64]]:
    """The number by which the client recognises its data."""
    return np.array(token_of(data.train, request.now, request.client), np.int64)
