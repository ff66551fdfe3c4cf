"""Which clients of a user's own data belong together, and how sure that is. Nothing is trained.

Every example becomes a few numbers: the columns of a table, each less its mean and over its deviation, or an image's
place in an encoder. Of each client and label there are count, mean and variance; from these FLT's one-shot step finds
the groups, or says that there are none (`fedclade.relate.discovery`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedclade.data.holdings import Holdings
from fedclade.nets.encoders import encoder_named
from fedclade.nets.shelf import opened
from fedclade.nouns import ClientId, InputError, Moments, generator
from fedclade.nouns.moments import label_moments
from fedclade.relate.discovery import GATE, Found, discover
from fedclade.relate.discovery_facts import discovery_facts
from fedclade.relate.distances import Matrix
from fedclade.relate.number import given_number, some_of, stability

PUBLIC = "public"  # the encoder that every client has
FEWEST = 4  # clients: of three, no group can stand apart from another
MOST_LABELS = 1000  # more are a column of names or of measurements
ROOM = 2**28  # numbers that all clients' moments may take
BEYOND = 5.0  # deviations: what is further out counts as this far, so one wrong cell is not the whole answer
SAME = 1e-13  # a column that differs by this part of itself differs by rounding
MOST_RATIO = 1000.0  # of heights: more says no more
NAMED = 5  # clients unlike all others that the answer names
COMPARED = 1000  # clients that stability looks at


@dataclass(frozen=True, eq=False)
class Encoded:
    """Everybody's examples as numbers that can be compared."""

    examples: Mapping[ClientId, NDArray[np.float64]]
    """(examples, numbers)"""
    names: tuple[str, ...]
    """What the numbers are called; empty where they are an encoder's own."""
    left_out: tuple[str, ...] = ()
    """Columns that never change."""


@dataclass(frozen=True)
class Sureness:
    """How sure an answer is."""

    silhouette: float
    """How far the best groups stand apart, from -1 to 1; below `needed` there are none."""
    needed: float
    height_ratio: float
    """How many times as high the merge is that the cut prevents as the highest one that it allows; 1 is not at all."""
    stability: float
    """How far the groups of four fifths of the clients agree with those of all: about 0 to 1."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found in a user's own data."""

    data: Holdings
    encoded: Encoded
    found: Found
    sure: Sureness

    @property
    def clear(self) -> bool:
        """Whether there are groups; if not, one model is the answer."""
        return self.found.passed

    @cached_property
    def facts(self) -> Mapping[str, object]:
        """What figures need."""
        return discovery_facts(self.found)

    def sentence(self) -> str:
        """The answer in a sentence."""
        clients, alone = len(self.data.inputs), len(self.found.outliers)
        if not self.clear and alone:
            named = ", ".join(self.found.outliers[:NAMED]) + (", ..." if alone > NAMED else "")
            return f"one model for {clients - alone} clients; {alone} unlike all others: {named}"
        if not self.clear:
            return f"no clear groups: use one model for all {clients} clients"
        also = f", and {alone} client{'s' if alone > 1 else ''} unlike all others" if alone else ""
        return f"{self.found.count} groups in {clients} clients{also}"


def look(data: Holdings, *, encoder: str = "", seed: int = 0) -> Answer:
    """Find the groups. The seed decides which clients are left out where stability is judged."""
    check(data)
    encoded = encode(data, encoder)
    moments = moments_of(encoded, data)
    found = discover(moments)
    return Answer(data, encoded, found, sureness(found, seed))


def check(data: Holdings) -> None:
    """An error if there is nothing to compare."""
    clients, labels = len(data.inputs), len(data.class_names)
    if clients < FEWEST:
        raise InputError(
            "there are too few clients to compare",
            where=data.name,
            got=f"{clients}: {', '.join(list(data.inputs)[:FEWEST])}",
            need=f"at least {FEWEST}",
            do="is this the right column?",
        )
    if data.examples < 2 * clients:
        raise InputError(
            "clients have too few examples",
            where=data.name,
            got=f"{data.examples} examples of {clients} clients",
            need="2 or more each",
            do="is this the right column?",
        )
    if labels > MOST_LABELS:
        raise InputError(
            "there are too many labels",
            where=data.name,
            got=str(labels),
            need=f"at most {MOST_LABELS}",
            do="is this the right column? or leave --label out",
        )


def encode(data: Holdings, encoder: str) -> Encoded:
    """Tables standardised, images through an encoder."""
    shape = next(iter(data.inputs.values())).shape[1:]
    if len(shape) == 1:
        if encoder:
            raise InputError(
                "a table needs no encoder", where="--encoder", got=encoder, need="none: columns are compared"
            )
        return standardised(data)
    known = opened(encoder or PUBLIC, shape)
    made = encoder_named(known.kind, known.weights)
    return Encoded(
        {
            client: made.encode(inputs.astype(np.float32, copy=False)).astype(np.float64)
            for client, inputs in data.inputs.items()
        },
        (),
    )


def standardised(data: Holdings) -> Encoded:
    """Each column less its mean and over its deviation, cut off far out; columns that never change are left out."""
    first = next(iter(data.inputs.values()))[0].astype(np.float64)
    near = {client: inputs.astype(np.float64) - first for client, inputs in data.inputs.items()}  # keeps digits
    whole = np.concatenate(list(near.values()))
    mean, deviation = whole.mean(axis=0), whole.std(axis=0)
    kept = deviation > SAME * np.maximum(np.abs(first), 1e-280)
    if not kept.any():
        raise InputError("no column ever changes", where=data.name, got="the same row everywhere", need="numbers")
    examples = {
        client: np.clip((inputs[:, kept] - mean[kept]) / deviation[kept], -BEYOND, BEYOND)
        for client, inputs in near.items()
    }
    named = list(zip(data.features, kept, strict=True))
    return Encoded(
        examples,
        tuple(name for name, there in named if there),
        tuple(name for name, there in named if not there),
    )


def moments_of(encoded: Encoded, data: Holdings) -> Moments:
    """Count, mean and variance of every client and label."""
    clients = tuple(sorted(encoded.examples))
    classes = max(len(data.class_names), 1)
    width = next(iter(encoded.examples.values())).shape[1]
    if len(clients) * classes * width > ROOM:
        raise InputError(
            "clients, labels and columns are too many together",
            where=data.name,
            got=f"{len(clients)} x {classes} x {width}",
            need=f"at most {ROOM}",
            do="leave columns out, or --label",
        )
    told = [label_moments(encoded.examples[client], data.labels[client], classes) for client in clients]
    return Moments(
        clients,
        np.stack([counts for counts, _, _ in told]).astype(np.int64),
        np.stack([means for _, means, _ in told]).astype(np.float32),
        np.stack([variances for _, _, variances in told]).astype(np.float32),
    )


def sureness(found: Found, seed: int) -> Sureness:
    """How sure this is: of the groups that were found, or of the best ones that there could have been."""
    count = (
        len(found.partition) if found.passed else max(found.silhouettes, key=lambda k: found.silhouettes[k], default=2)
    )
    chance = generator("looking", seed)
    squares = some_of(Matrix(found.clients, found.squared), min(COMPARED, len(found.clients)), chance)
    some = Matrix(squares.clients, np.sqrt(np.maximum(squares.values, 0)))
    heights = np.sqrt(np.maximum(found.tree[::-1, 2], 0))  # the last merge first
    ratio = 1.0
    if 2 <= count < len(heights):  # heights begin with the first merge: nothing is below that one
        least = max(float(heights[0]) / MOST_RATIO, np.finfo(float).tiny)  # a group may have no width at all
        ratio = max(float(heights[count - 2]) / max(float(heights[count - 1]), least), 1.0)
    return Sureness(
        max(found.gates.values()), GATE, ratio, stability(some, given_number(some, count), chance) if count > 1 else 1.0
    )
