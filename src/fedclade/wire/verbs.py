"""The table of verbs: all that a server can ask of a client.

Each verb stands here with its fields (what a request says beside the round and the models), the forms of the arrays in
its reply, and the faults that forms do not see; those about the columns of tables stand in `fedclade.wire.columns`. Its
handler is in `fedclade.client.handlers`.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.core import InputError, settings
from fedclade.wire.columns import COLUMN_COUNTS, COLUMN_SUMS, COLUMNS
from fedclade.wire.forms import MAX_MAGNITUDE, Form, bounded_form, number_form
from fedclade.wire.message import Reply, Request
from fedclade.wire.verb import AnyVerb, Verb

CountField = Annotated[int, Field(ge=0, le=2**31)]
PositiveWidth = Annotated[int, Field(ge=1, le=2**31)]
MAX_ROWS = 10**6  # in one message
TOKEN = number_form(np.int64)  # a number by which a client recognises its data; it tells nothing else about them


@settings
class NoFields:
    """Nothing beside the round and the models."""


# -- train: a client trains the model that it is sent, and sends its own back -----------------------------------------


@settings
class TrainFields:
    """What is trained."""

    encoder: str = ""
    """An encoder of this kind, which learns to give examples back; empty: the net."""


TRAIN = Verb(
    name="train",
    fields=TrainFields,
    row_limits=(1, 2),  # the start, and a model that training is pulled to
    forms=lambda request: {"row": bounded_form(request.rows.shape[1:]), "loss": number_form()},
    deadline="train",
)
TRAIN_MEAN = replace(TRAIN, label="train_mean")
"""The same message: the server keeps a mean, and nothing of one client."""
TUNE = replace(TRAIN, label="tune")
"""The same with an encoder in the place of the net."""


# -- train_best: a client trains the one of several models that fits its training examples best -----------------------


def train_best_forms(request: Request[NoFields]) -> dict[str, Form]:
    models, parameters = request.rows.shape
    row = bounded_form((parameters,))
    return {"row": row, "loss": number_form(), "losses": Form(np.float64, (models,))}


TRAIN_BEST = Verb(
    name="train_best", fields=NoFields, row_limits=(1, MAX_ROWS), forms=train_best_forms, deadline="train"
)
TRAINING = (TRAIN.name, TRAIN_BEST.name)
"""Verbs that many clients are asked at once where a machine plays them."""


# -- losses: the mean loss of several models on a client's training examples ------------------------------------------

LOSSES = Verb(
    name="losses",
    fields=NoFields,
    row_limits=(1, MAX_ROWS),
    forms=lambda request: {"losses": Form(np.float64, request.rows.shape[:1])},
    deadline="losses",
)


# -- evaluate: how a model does on a client's test examples -----------------------------------------------------------


@settings
class EvaluateFields:
    """How many numbers the task counts and adds up: see `fedclade.core.evaluation`."""

    counts: CountField
    sums: CountField
    shares: bool = True
    """Whether an example's score is a share, at most 1."""


def evaluate_forms(request: Request[EvaluateFields]) -> dict[str, Form]:
    fields = request.fields
    score, sums = Form(np.float64, (2,), min_value=0), Form(np.float64, (fields.sums,))
    return {
        "loss": number_form(),
        "score": score,
        "counts": Form(np.int64, (fields.counts,), min_value=0),
        "sums": sums,
    }


def evaluate_fault(request: Request[EvaluateFields], reply: Reply) -> str:
    score, counts = np.asarray(reply.arrays["score"], np.float64), np.asarray(reply.arrays["counts"])
    if request.fields.shares and score.max() > reply.examples * (1 + 1e-9):
        return f"score: got {score.max():g}, need at most {reply.examples}"
    if counts.size and int(counts.max()) > reply.examples:
        return f"counts: got {counts.max()}, need at most {reply.examples}"
    return ""


EVALUATE = Verb(
    name="evaluate",
    fields=EvaluateFields,
    row_limits=(1, 1),
    forms=evaluate_forms,
    fault=evaluate_fault,
    deadline="evaluate",
    part="test",
)


# -- validate: the same on the training examples that are set aside in a run ------------------------------------------

VALIDATE = replace(EVALUATE, name="validate", part="train")


# -- sketch: a few points that stand for a client's training examples -------------------------------------------------


@settings
class SketchFields:
    """How examples become points."""

    encoder: str
    """Its kind: every client knows how to use the weights."""
    points: Annotated[int, Field(ge=1, le=10**6)]
    """How many are wanted at the most."""
    by_label: bool = False
    """As many as the client has labels, within that."""
    features: PositiveWidth
    """How many numbers a point has."""
    epochs: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Epochs of fine-tuning the encoder first."""
    own_components: CountField = 0
    """Points are places in so many principal components of the client's own examples; 0: they are not."""


def sketch_forms(request: Request[SketchFields]) -> dict[str, Form]:
    points = bounded_form((None, request.fields.features), request.fields.points)
    return {"points": points, "counts": Form(np.int64, (None,), request.fields.points, min_value=1), "token": TOKEN}


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


SKETCH = Verb(
    name="sketch",
    fields=SketchFields,
    row_limits=(0, MAX_ROWS),  # none, the encoder's weights, or a basis
    row_kind="weights",
    forms=sketch_forms,
    fault=sketch_fault,
)


# -- scatter: sums over a client's encoded training examples ----------------------------------------------------------


@settings
class EncodedFields:
    """How examples become numbers."""

    encoder: str
    features: PositiveWidth
    """How many numbers an encoded example has."""


def scatter_forms(request: Request[EncodedFields]) -> dict[str, Form]:
    width = request.fields.features
    return {"total": Form(np.float64, (width,)), "products": Form(np.float32, (width * (width + 1) // 2,))}


def scatter_fault(request: Request[EncodedFields], reply: Reply) -> str:
    """Empty if the sums can be those of so many examples."""
    features = request.fields.features
    total = np.asarray(reply.arrays["total"], np.float64)
    products = np.asarray(reply.arrays["products"], np.float64)
    squares = products[diagonal(features)]
    most = MAX_MAGNITUDE * MAX_MAGNITUDE * reply.examples
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


SCATTER = Verb(name="scatter", fields=EncodedFields, forms=scatter_forms, fault=scatter_fault)


# -- moments: count, mean and variance of every label -----------------------------------------------------------------


@settings
class MomentFields:
    """Which labels are described, and how exactly."""

    encoder: str
    features: PositiveWidth
    classes: PositiveWidth
    """How many labels there are."""
    overlap: bool = False
    """Whether an example may have several of them, or none."""
    products: bool = False
    """Whether one row more is told: all examples, each times its number."""
    min_examples: Annotated[int, Field(ge=1)] = 1
    """A label with fewer examples is not described."""
    noise: Annotated[float, Field(ge=0)] = 0.0
    """So many standard errors of noise are added to every mean."""

    @property
    def rows(self) -> int:
        """Of the reply."""
        return self.classes + self.products


def moments_forms(request: Request[MomentFields]) -> dict[str, Form]:
    rows = request.fields.rows
    counts, variances = Form(np.int64, (rows,), min_value=0), Form(np.float32, (rows,), min_value=0)
    means = bounded_form((rows, request.fields.features))
    return {"counts": counts, "means": means, "variances": variances, "token": TOKEN}


def moments_fault(request: Request[MomentFields], reply: Reply) -> str:
    counts, means, variances = (reply.arrays[name] for name in ("counts", "means", "variances"))
    if (request.fields.overlap or request.fields.products) and int(counts.max()) > reply.examples:
        return f"counts: got more than {reply.examples} examples, need at most those"  # an example may count twice
    if not (request.fields.overlap or request.fields.products) and (fault := counts_fault(reply)):
        return fault
    if means[counts == 0].any() or variances[counts < 2].any():  # type: ignore[operator]  # counts, by their form
        return "means: got some of labels without examples, need 0 there"
    return ""


MOMENTS = Verb(
    name="moments",
    fields=MomentFields,
    forms=moments_forms,
    fault=moments_fault,
    is_kept=lambda reply: bool(reply.arrays["counts"].any()),  # it describes a label
)


# -- changed: whether a client's training examples are others than before ---------------------------------------------


@settings
class ChangedFields:
    """The token that the client last gave its data."""

    token: Annotated[int, Field(ge=-(2**63), lt=2**63)]


CHANGED = Verb(
    name="changed",
    fields=ChangedFields,
    forms=lambda _: {"changed": number_form(np.bool_)},
    field_bytes=lambda _: 8,  # the token
)


VERBS: dict[str, AnyVerb] = {
    verb.name: verb
    for verb in (
        *(TRAIN, TRAIN_BEST, LOSSES, EVALUATE, VALIDATE, SKETCH, SCATTER, MOMENTS, CHANGED),
        *(COLUMNS, COLUMN_COUNTS, COLUMN_SUMS),
    )
}
"""By the name that stands in messages."""


def verb_named(name: object) -> AnyVerb:
    """The verb of this name, or an error: a message may say anything."""
    if not isinstance(name, str) or name not in VERBS:
        raise InputError("there is no such verb", where="a request", got=repr(name)[:60], need=", ".join(VERBS))
    return VERBS[name]
