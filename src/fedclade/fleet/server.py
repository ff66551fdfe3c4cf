"""The server's side of every verb: requests go out, replies come back through the gate, numbers are put together.

How requests reach clients is the engine's affair: it gives a `Post`. What a server does with the replies is one code
for all engines, so a method gets the same numbers from all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedclade.fleet.gate import Arrival, Gate
from fedclade.fleet.protocol import (
    Ask,
    Described,
    Flags,
    Losses,
    Means,
    Reply,
    Scatter,
    Scores,
    Sketches,
    Sketching,
    Updates,
    Verb,
)
from fedclade.nouns import Assignment, ClientId, Encoding, InputError, Moments, Round, Row, Rows
from fedclade.nouns.points import tunable

NOTHING: Rows = np.zeros((0, 0), np.float32)
EMPTY: Mapping[str, Any] = MappingProxyType({})
PIECE = 2**16  # numbers of a model that are added at once
WIDEST = (
    2**12
)  # numbers of an example whose products are summed: 34 MB from each client, and their square on the server


@dataclass(frozen=True)
class Post:
    """How an engine reaches its clients, and what the gate must know of them."""

    parameters: int
    """Numbers in a model."""
    layers: tuple[int, ...]
    """How many of them belong to each trained layer."""
    opened: Callable[[str], Encoding]
    """The encoder of this name, or in this file."""
    classes: int
    """How many labels there are."""
    trained: Callable[[], Mapping[ClientId, int]]
    """Who can be asked now, with the number of training examples that each said it has."""
    tested: Callable[[], Mapping[ClientId, int]]
    """The same with test examples."""
    carry: Callable[[Mapping[ClientId, Ask]], Iterable[Arrival]]
    """Requests out; what arrives, in any order."""


def train(post: Post, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
    """Each client's own model."""
    models = models_of(starts)
    if towards is not None:
        models = ((client, np.concatenate([row, towards[None]])) for client, row in models)
    gate, replies = replies_to(post, "train", models, now)
    heard = list(replies)
    return Updates(
        clients=tuple(reply.client for reply in heard),
        rows=np.stack([np.asarray(reply.arrays["row"], np.float32) for reply in heard])
        if heard
        else np.zeros((0, post.parameters), np.float32),
        examples=np.array([reply.examples for reply in heard], np.int64),
        losses=np.array([reply.arrays["loss"] for reply in heard], np.float64),
        refused=gate.refused,
    )


def train_mean(post: Post, starts: Assignment, now: Round, encoder: str = "") -> Means:
    """A mean for each model: one sum each, whatever the number of clients; double precision, in request order."""
    sums = np.zeros(starts.rows.shape, np.float64)
    examples = np.zeros(len(starts.rows), np.int64)
    heard: list[ClientId] = []
    loss = 0.0
    told = {"encoder": tunable(post.opened(encoder), encoder).kind} if encoder else EMPTY
    gate, replies = replies_to(post, "train", models_of(starts), now, told)
    for reply in replies:
        home = starts.home[reply.client]
        add_weighted(sums[home], np.asarray(reply.arrays["row"], np.float32), reply.examples)
        examples[home] += reply.examples
        heard.append(reply.client)
        loss += float(reply.arrays["loss"]) * reply.examples
    answered = examples > 0
    rows = np.array(starts.rows)
    rows[answered] = sums[answered] / examples[answered, None]
    total = int(examples.sum())
    return Means(rows, examples, tuple(heard), loss / total if total else float("nan"), gate.refused)


def add_weighted(total: NDArray[np.float64], row: Row, weight: int) -> None:
    """Add a weighted model to its sum, in place; piece by piece, so that what is multiplied stays in a near cache."""
    for start in range(0, len(row), PIECE):
        total[start : start + PIECE] += np.multiply(row[start : start + PIECE], weight, dtype=np.float64)


def losses(post: Post, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
    """Every model on every client's training data."""
    gate, replies = replies_to(post, "losses", ((client, rows) for client in clients), now)
    heard = list(replies)
    return Losses(
        clients=tuple(reply.client for reply in heard),
        table=np.array([reply.arrays["losses"] for reply in heard], np.float64).reshape(len(heard), len(rows)),
        examples=np.array([reply.examples for reply in heard], np.int64),
        refused=gate.refused,
    )


def evaluate(post: Post, models: Assignment, now: Round) -> Scores:
    """Every client's model on its own test part."""
    gate, replies = replies_to(post, "evaluate", models_of(models), now)
    heard = list(replies)
    return Scores(
        clients=tuple(reply.client for reply in heard),
        correct=np.array([reply.arrays["correct"] for reply in heard], np.int64),
        examples=np.array([reply.examples for reply in heard], np.int64),
        losses=np.array([reply.arrays["loss"] for reply in heard], np.float64),
        refused=gate.refused,
    )


def sketch(post: Post, clients: Sequence[ClientId], how: Sketching, now: Round) -> Sketches:
    """A few points of each client's encoded data."""
    found = post.opened(how.encoder)
    rows, width = sent_for(found, how)
    told = {"encoder": found.kind, "points": how.points, "features": width, "epochs": how.epochs, "own": how.own}
    gate, replies = replies_to(post, "sketch", ((client, rows) for client in clients), now, told)
    heard = list(replies)
    return Sketches(
        points={reply.client: np.asarray(reply.arrays["points"], np.float32) for reply in heard},
        counts={reply.client: np.asarray(reply.arrays["counts"], np.int64) for reply in heard},
        tokens={reply.client: int(reply.arrays["token"]) for reply in heard},
        sent=rows.size,
        refused=gate.refused,
    )


def sent_for(found: Encoding, how: Sketching) -> tuple[Rows, int]:
    """What clients are sent along, and how many numbers a point has. Only who fine-tunes gets what does not encode."""
    if how.basis is not None or how.own:
        unweighed(found, how.encoder)
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


def scatter(post: Post, clients: Sequence[ClientId], encoder: str, now: Round) -> Scatter:
    """Sums over all clients: each reply is added and forgotten, in request order."""
    width = unweighed(post.opened(encoder), encoder).width
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
    told = {"encoder": encoder, "features": width}
    gate, replies = replies_to(post, "scatter", ((client, NOTHING) for client in clients), now, told)
    for reply in replies:
        total += np.asarray(reply.arrays["total"], np.float64)
        triangle += np.asarray(reply.arrays["products"], np.float64)
        examples += reply.examples
        heard.append(reply.client)
    products = np.zeros((width, width))
    products[np.triu_indices(width)] = triangle
    return Scatter(examples, total, products + np.triu(products, 1).T, tuple(heard), gate.refused)


def moments(post: Post, clients: Sequence[ClientId], encoder: str, fewest: int, noise: float, now: Round) -> Described:
    """The class moments of each client's data."""
    width = unweighed(post.opened(encoder), encoder).width
    told = {"encoder": encoder, "features": width, "classes": post.classes, "fewest": fewest, "noise": noise}
    gate, replies = replies_to(post, "moments", ((client, NOTHING) for client in clients), now, told)
    heard = [reply for reply in replies if reply.arrays["counts"].any()]
    found = Moments(
        tuple(reply.client for reply in heard),
        np.array([reply.arrays["counts"] for reply in heard], np.int64).reshape(len(heard), post.classes),
        np.array([reply.arrays["means"] for reply in heard], np.float32).reshape(len(heard), post.classes, width),
        np.array([reply.arrays["variances"] for reply in heard], np.float32).reshape(len(heard), post.classes),
    )
    return Described(found, {reply.client: int(reply.arrays["token"]) for reply in heard}, gate.refused)


def changed(post: Post, tokens: Mapping[ClientId, int], now: Round) -> Flags:
    """Who says that its data are others than those of its token."""
    each = {client: {"token": token} for client, token in tokens.items()}
    gate, replies = replies_to(post, "changed", ((client, NOTHING) for client in tokens), now, each=each)
    return Flags({reply.client: bool(reply.arrays["changed"]) for reply in replies}, gate.refused)


def unweighed(found: Encoding, name: str) -> Encoding:
    """An encoder that every client has, or an error."""
    if len(found.weights):
        raise InputError(f"encoder {name} has weights", need="one that every client has")
    return found


def models_of(models: Assignment) -> Iterator[tuple[ClientId, Rows]]:
    """Each client with the one model that it is sent, (1, parameters)."""
    return ((client, models.rows[row : row + 1]) for client, row in models.home.items())


def replies_to(
    post: Post,
    verb: Verb,
    models: Iterable[tuple[ClientId, Rows]],
    now: Round,
    told: Mapping[str, Any] = EMPTY,
    each: Mapping[ClientId, Mapping[str, Any]] = EMPTY,
) -> tuple[Gate, Iterator[Reply]]:
    """The replies that the gate lets through, in the order of the request, and the gate.

    `told` are the fields of a request that all clients get, `each` those of one client.
    """
    asks = {client: Ask(verb, client, now, rows, **told, **each.get(client, EMPTY)) for client, rows in models}
    known = post.tested() if verb == "evaluate" else post.trained()
    for client in asks:
        if client not in known:
            raise InputError(f'there is no client "{client}"', where=f"fleet.{verb}", need="a client of the fleet")
    gate = Gate(asks, known)
    return gate, gate.admit(post.carry(asks))
