"""The table of verbs: all that a server can ask of a client. Each entry says what goes, what comes, and its bounds.

train      each client trains the model it is sent, and sends its own back
losses     the mean loss of several models on its training examples
evaluate   how a model does on its test examples
sketch     a few points that stand for its training examples
scatter    sums over its encoded training examples
moments    count, mean and variance of every label
changed    whether its training examples are others than before
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.nouns import InputError, settings
from fedclade.wire.forms import LARGEST, Form, bounded, number
from fedclade.wire.message import Reply, Request
from fedclade.wire.verb import AnyVerb, Verb

Count = Annotated[int, Field(ge=0, le=2**31)]
Width = Annotated[int, Field(ge=1, le=2**31)]
MOST_ROWS = 10**6  # in one message
TOKEN = number(np.int64)


@settings
class NoFields:
    """Nothing beside the round and the models."""


@settings
class TrainFields:
    """What is trained."""

    encoder: str = ""
    """An encoder of this kind, which learns to give examples back; empty: the net."""


@settings
class SketchFields:
    """How examples become points."""

    encoder: str
    """Its kind: every client knows how to use the weights."""
    points: Annotated[int, Field(ge=1, le=10**6)]
    """How many are wanted at the most."""
    features: Width
    """How many numbers a point has."""
    epochs: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Of fine-tuning the encoder first."""
    own: Count = 0
    """In so many principal components of the client's own examples; 0: not."""


@settings
class EncodedFields:
    """How examples become numbers."""

    encoder: str
    features: Width
    """How many numbers an encoded example has."""


@settings
class MomentFields:
    """How labels are told of."""

    encoder: str
    features: Width
    classes: Width
    """How many labels there are."""
    fewest: Annotated[int, Field(ge=1)] = 1
    """A label with fewer examples is not told."""
    noise: Annotated[float, Field(ge=0)] = 0.0
    """So many standard errors of noise are added to every mean."""


@settings
class ChangedFields:
    """What the client last said of its data."""

    token: Annotated[int, Field(ge=-(2**63), lt=2**63)]


def train_forms(request: Request[TrainFields]) -> dict[str, Form]:
    return {"row": bounded(request.rows.shape[1:]), "loss": number()}


def losses_forms(request: Request[NoFields]) -> dict[str, Form]:
    return {"losses": Form(np.float64, request.rows.shape[:1])}


def evaluate_forms(_: Request[NoFields]) -> dict[str, Form]:
    return {"correct": number(np.int64, least_value=0), "loss": number()}


def evaluate_fault(_: Request[NoFields], reply: Reply) -> str:
    if int(reply.arrays["correct"]) > reply.examples:
        return f"correct: got {reply.arrays['correct']}, need at most {reply.examples}"
    return ""


def sketch_forms(request: Request[SketchFields]) -> dict[str, Form]:
    most = request.fields.points
    return {
        "points": bounded((None, request.fields.features), most),
        "counts": Form(np.int64, (None,), most=most, least_value=1),
        "token": TOKEN,
    }


def sketch_fault(request: Request[SketchFields], reply: Reply) -> str:
    points, counts, most = reply.arrays["points"], reply.arrays["counts"], request.fields.points
    if len(points) != len(counts) or not 0 < len(points) <= most:
        return f"points: got {len(points)} with {len(counts)} counts, need 1 to {most} with as many"
    return counts_fault(reply)


def counts_fault(reply: Reply) -> str:
    """Empty if no more examples are counted than the reply is about."""
    counts = reply.arrays["counts"]
    if int(counts.max()) > reply.examples or int(counts.sum()) > reply.examples:
        return f"counts: got more than {reply.examples} examples, need at most those"
    return ""


def scatter_forms(request: Request[EncodedFields]) -> dict[str, Form]:
    width = request.fields.features
    return {"total": Form(np.float64, (width,)), "products": Form(np.float32, (width * (width + 1) // 2,))}


def scatter_fault(request: Request[EncodedFields], reply: Reply) -> str:
    """What is wrong with sums that have the right form; empty if they can be those of so many examples."""
    features = request.fields.features
    total = np.asarray(reply.arrays["total"], np.float64)
    products = np.asarray(reply.arrays["products"], np.float64)
    squares = products[diagonal(features)]
    most = LARGEST * LARGEST * reply.examples
    if float(squares.max(initial=0)) > most:
        return f"products: got {float(squares.max()):g}, need at most {most:g}"
    if (total**2 > 1.001 * reply.examples * squares + 1e-6).any():  # Cauchy and Schwarz, and rounding
        return "total: got more than its squares allow, need sums of the same examples"
    lengths = np.sqrt(np.maximum(squares, 0))
    start = 0
    for row in range(features):
        allowed = 1.001 * lengths[row] * lengths[row:] + 1e-6
        if (np.abs(products[start : start + features - row]) > allowed).any():
            return "products: got more than their squares allow, need sums of the same examples"
        start += features - row
    return ""


def diagonal(features: int) -> NDArray[np.int64]:
    """Where the diagonal of a matrix stands in its upper triangle, row by row."""
    rows = np.arange(features)
    places: NDArray[np.int64] = rows * features - rows * (rows - 1) // 2
    return places


def moments_forms(request: Request[MomentFields]) -> dict[str, Form]:
    classes, features = request.fields.classes, request.fields.features
    return {
        "counts": Form(np.int64, (classes,), least_value=0),
        "means": bounded((classes, features)),
        "variances": Form(np.float32, (classes,), least_value=0),
        "token": TOKEN,
    }


def moments_fault(_: Request[MomentFields], reply: Reply) -> str:
    counts, means, variances = (reply.arrays[name] for name in ("counts", "means", "variances"))
    if fault := counts_fault(reply):
        return fault
    if means[counts == 0].any() or variances[counts < 2].any():  # type: ignore[operator]  # counts, by their form
        return "means: got some of labels without examples, need 0 there"
    return ""


TRAIN = Verb(name="train", fields=TrainFields, rows=(1, 2), forms=train_forms, deadline="train")
TRAIN_MEAN = replace(TRAIN, label="train_mean")
"""The same message: the server keeps a mean, and nothing of one client."""
TUNE = replace(TRAIN, label="tune")
"""The same with an encoder in the place of the net."""
LOSSES = Verb(name="losses", fields=NoFields, rows=(1, MOST_ROWS), forms=losses_forms, deadline="losses")
EVALUATE = Verb(
    name="evaluate",
    fields=NoFields,
    rows=(1, 1),
    forms=evaluate_forms,
    fault=evaluate_fault,
    deadline="evaluate",
    part="test",
)
SKETCH = Verb(
    name="sketch",
    fields=SketchFields,
    rows=(0, MOST_ROWS),  # none, the encoder's weights, or a basis
    rows_are="weights",
    forms=sketch_forms,
    fault=sketch_fault,
)
SCATTER = Verb(name="scatter", fields=EncodedFields, forms=scatter_forms, fault=scatter_fault)
MOMENTS = Verb(name="moments", fields=MomentFields, forms=moments_forms, fault=moments_fault)
CHANGED = Verb(name="changed", fields=ChangedFields, forms=lambda _: {"changed": number(np.bool_)}, field_bytes=8)

VERBS: dict[str, AnyVerb] = {verb.name: verb for verb in (TRAIN, LOSSES, EVALUATE, SKETCH, SCATTER, MOMENTS, CHANGED)}
"""By the name that stands in messages."""


def verb_named(name: object) -> AnyVerb:
    """The verb of this name, or an error: a message may say anything."""
    if not isinstance(name, str) or name not in VERBS:
        raise InputError("there is no such verb", where="a request", got=repr(name)[:60], need=", ".join(VERBS))
    return VERBS[name]
