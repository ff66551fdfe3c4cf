"""What a client does when it is asked: a handler for every verb of the table.

A handler gets the client, the request and the data, and gives the number of examples and the arrays of the reply.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from fedclade.data import ClientData, Part
from fedclade.local.moments import blurred, moments, secret_of, token_of
from fedclade.local.scatter import placing, scatter
from fedclade.local.sketch import sketch
from fedclade.local.steps import drawn
from fedclade.local.tuning import tuned
from fedclade.local.validation import judged, learned
from fedclade.nets.encoders import NO_WEIGHTS
from fedclade.nouns import Row
from fedclade.wire import Arrays, Request, Verb
from fedclade.wire import verbs as wire

if TYPE_CHECKING:
    from fedclade.local.client import Client

Fields = TypeVar("Fields")
Answered: TypeAlias = tuple[int, Arrays]
"""How many examples a reply is about, and its arrays."""
Handler: TypeAlias = Callable[["Client", Request[Fields], ClientData], Answered]
HANDLERS: dict[str, Callable[..., Answered]] = {}
"""By the name of the verb."""


def handles(verb: Verb[Fields]) -> Callable[[Handler[Fields]], Handler[Fields]]:
    """Makes a function the handler of this verb."""

    def register(handler: Handler[Fields]) -> Handler[Fields]:
        HANDLERS[verb.name] = handler
        return handler

    return register


@handles(wire.TRAIN)
def train(client: "Client", request: Request[wire.TrainFields], data: ClientData) -> Answered:
    now, encoder = request.now, request.fields.encoder
    if encoder:
        row, loss = tuned(encoder, request.rows[0], data.train, now.local.epochs, now, request.client)
        return trained(data.train, row, loss)
    part = learned(data.train, now, request.client)
    this_round, how = drawn(part, now, request.client)
    path = client.path_for(how)
    return trained(part, *path.train(request.rows[0], this_round, how, request.client, towards(request)))


def towards(request: Request[wire.TrainFields]) -> Row | None:
    """Where training is pulled to, if not to where it starts."""
    return request.rows[1] if len(request.rows) > 1 else None


def trained(part: Part, row: Row, loss: float) -> Answered:
    """What a client that has trained on these examples answers."""
    return len(part), {"row": row, "loss": np.array(loss, np.float64)}


@handles(wire.LOSSES)
def losses(client: "Client", request: Request[wire.NoFields], data: ClientData) -> Answered:
    part = judged(data.train, request.now, request.client)
    return len(part), {"losses": client.path.losses(request.rows, part)}


@handles(wire.EVALUATE)
def evaluate(client: "Client", request: Request[wire.NoFields], data: ClientData) -> Answered:
    correct, loss = client.score(request.rows[0], data.test)
    return len(data.test), {"correct": np.array(correct, np.int64), "loss": np.array(loss, np.float64)}


@handles(wire.SKETCH)
def points(_client: "Client", request: Request[wire.SketchFields], data: ClientData) -> Answered:
    asked, rows = request.fields, request.rows
    basis = rows if len(rows) > 1 else rows[:0]
    weights = rows[0] if len(rows) == 1 else NO_WEIGHTS
    always = replace(request.now, number=0)  # the same examples have the same points in every round
    if asked.epochs:
        weights, _ = tuned(asked.encoder, weights, data.train, asked.epochs, always, request.client)
    place = placing(basis, asked.own)
    found, counts = sketch(data.train, asked.encoder, asked.points, always, request.client, weights, place)
    return len(data.train), {"points": found, "counts": counts, "token": token(request, data)}


@handles(wire.SCATTER)
def sums(_client: "Client", request: Request[wire.EncodedFields], data: ClientData) -> Answered:
    total, products = scatter(data.train, request.fields.encoder)
    return len(data.train), {"total": total, "products": products}


@handles(wire.MOMENTS)
def label_moments(_client: "Client", request: Request[wire.MomentFields], data: ClientData) -> Answered:
    asked = request.fields
    fewest = max(asked.fewest, 2) if asked.noise else asked.fewest  # noise is as large as examples differ: one does not
    own = moments(data.train, asked.encoder, asked.classes, fewest)
    counts, means, variances = blurred(*own, asked.noise, secret_of(data.train, request.client))
    arrays: Arrays = {"counts": counts, "means": means, "variances": variances, "token": token(request, data)}
    return len(data.train), arrays


@handles(wire.CHANGED)
def changed(_client: "Client", request: Request[wire.ChangedFields], data: ClientData) -> Answered:
    return len(data.train), {"changed": np.array(int(token(request, data)) != request.fields.token)}


def token(request: Request[Fields], data: ClientData) -> np.ndarray[tuple[()], np.dtype[np.int64]]:
    """By which the client knows its data again."""
    return np.array(token_of(data.train, request.now, request.client), np.int64)
