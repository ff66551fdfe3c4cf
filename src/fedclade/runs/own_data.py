"""Which clients of a user's own data belong together, and how sure that is. Nothing is trained.

Every example becomes a few numbers: the columns of a table, each less its mean and over its deviation, or an encoder's
output for an image. Of each client and label there are count, mean and variance; from these FLT's one-shot step finds
the groups, or says that there are none (`fedclade.methods.flt.found_groups`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.distances import Matrix
from fedclade.clustering.group_number import cut_into_groups, sample_clients, stability
from fedclade.core import ClientId, InputError, Moments, generator
from fedclade.core.moments import label_moments
from fedclade.data.own_examples import OwnExamples
from fedclade.methods.flt.class_moments import MIN_SEPARATION, groups_of_moments
from fedclade.methods.flt.found_groups import FoundGroups, discovery_facts
from fedclade.nets.encoders import encoder_named
from fedclade.nets.weight_files import open_encoder

PUBLIC_ENCODER = "public"  # the encoder that every client has
MIN_CLIENTS = 4  # clients: of three, no group can stand apart from another
MAX_LABELS = 1000  # more are a column of names or of measurements
MAX_NUMBERS = 2**28  # numbers that all clients' moments may take
MAX_DEVIATIONS = 5.0  # values further out count as this far, so that one wrong cell does not decide the answer
MIN_RELATIVE_DEVIATION = 1e-13  # a column that differs by this part of itself differs by rounding
MAX_HEIGHT_RATIO = 1000.0  # of heights: more says no more
MAX_NAMED = 5  # clients unlike all others that the answer names
MAX_COMPARED = 1000  # clients that stability looks at


@dataclass(frozen=True, eq=False)
class EncodedExamples:
    """The examples of all clients as numbers that can be compared."""

    examples: Mapping[ClientId, NDArray[np.float64]]
    """(examples, numbers)"""
    names: tuple[str, ...]
    """Of the numbers; empty where they are an encoder's output."""
    left_out: tuple[str, ...] = ()
    """Columns that never change."""


@dataclass(frozen=True)
class Confidence:
    """How sure an answer is."""

    silhouette: float
    """How far the best groups stand apart, from -1 to 1; below `needed` there are none."""
    needed: float
    height_ratio: float
    """How many times as high the merge is that the cut prevents as the highest one that it allows; 1 is not at all."""
    stability: float
    """How far the groups of four fifths of the clients agree with those of all: about 0 to 1."""


@dataclass(frozen=True, eq=False)
class GroupAnswer:
    """The groups in a user's own data."""

    data: OwnExamples
    encoded: EncodedExamples
    found: FoundGroups
    confidence: Confidence

    @property
    def has_groups(self) -> bool:
        """Whether there are groups; if not, use one model."""
        return self.found.has_groups

    @cached_property
    def facts(self) -> Mapping[str, object]:
        """The facts that plots are drawn from."""
        return discovery_facts(self.found)

    def sentence(self) -> str:
        """The answer in a sentence."""
        clients, alone = len(self.data.inputs), len(self.found.outliers)
        if not self.has_groups and alone:
            named = ", ".join(self.found.outliers[:MAX_NAMED]) + (", ..." if alone > MAX_NAMED else "")
            return f"one model for {clients - alone} clients; {alone} unlike all others: {named}"
        if not self.has_groups:
            return f"no clear groups: use one model for all {clients} clients"
        also = f", and {alone} client{'s' if alone > 1 else ''} unlike all others" if alone else ""
        return f"{self.found.count} groups in {clients} clients{also}"


def find_groups(data: OwnExamples, *, encoder: str = "", seed: int = 0) -> GroupAnswer:
    """Find the groups. The seed decides which clients are left out where stability is measured."""
    check(data)
    encoded = encode(data, encoder)
    found = groups_of_moments(moments_of(encoded, data))
    return GroupAnswer(data, encoded, found, measure_confidence(found, seed))


def check(data: OwnExamples) -> None:
    """An error if there is nothing to compare."""
    clients, labels, do = len(data.inputs), len(data.class_names), "is this the right column?"
    if clients < MIN_CLIENTS:
        got, need = f"{clients}: {', '.join(list(data.inputs)[:MIN_CLIENTS])}", f"at least {MIN_CLIENTS}"
        raise InputError("there are too few clients to compare", where=data.name, got=got, need=need, do=do)
    if data.examples < 2 * clients:
        got = f"{data.examples} examples of {clients} clients"
        raise InputError("clients have too few examples", where=data.name, got=got, need="2 or more each", do=do)
    if labels > MAX_LABELS:
        need, do = f"at most {MAX_LABELS}", f"{do} or leave --label out"
        raise InputError("there are too many labels", where=data.name, got=str(labels), need=need, do=do)


def encode(data: OwnExamples, encoder: str) -> EncodedExamples:
    """Tables standardised, images through an encoder."""
    shape = next(iter(data.inputs.values())).shape[1:]
    if len(shape) == 1:
        if encoder:
            need = "none: columns are compared"
            raise InputError("a table needs no encoder", where="--encoder", got=encoder, need=need)
        return standardise(data)
    known = open_encoder(encoder or PUBLIC_ENCODER, shape)
    made = encoder_named(known.kind, known.weights)
    images = {client: inputs.astype(np.float32, copy=False) for client, inputs in data.inputs.items()}
    return EncodedExamples({client: made.encode(each).astype(np.float64) for client, each in images.items()}, ())


def standardise(data: OwnExamples) -> EncodedExamples:
    """Each column less its mean and over its deviation, cut off far out; columns that never change are left out."""
    first = next(iter(data.inputs.values()))[0].astype(np.float64)
    near = {client: inputs.astype(np.float64) - first for client, inputs in data.inputs.items()}  # keeps digits
    whole = np.concatenate(list(near.values()))
    mean, deviation = whole.mean(axis=0), whole.std(axis=0)
    kept = deviation > MIN_RELATIVE_DEVIATION * np.maximum(np.abs(first), 1e-280)
    if not kept.any():
        raise InputError("no column ever changes", where=data.name, got="the same row everywhere", need="numbers")
    examples = {
        client: np.clip((inputs[:, kept] - mean[kept]) / deviation[kept], -MAX_DEVIATIONS, MAX_DEVIATIONS)
        for client, inputs in near.items()
    }
    features = np.array(data.features, object)
    return EncodedExamples(examples, tuple(features[kept]), tuple(features[~kept]))


def moments_of(encoded: EncodedExamples, data: OwnExamples) -> Moments:
    """Count, mean and variance of every client and label."""
    clients = tuple(sorted(encoded.examples))
    classes = max(len(data.class_names), 1)
    width = next(iter(encoded.examples.values())).shape[1]
    if len(clients) * classes * width > MAX_NUMBERS:
        what, got = "clients, labels and columns are too many together", f"{len(clients)} x {classes} x {width}"
        do = "leave columns out, or --label"
        raise InputError(what, where=data.name, got=got, need=f"at most {MAX_NUMBERS}", do=do)
    moments = [label_moments(encoded.examples[client], data.labels[client], classes) for client in clients]
    return Moments(
        clients,
        np.stack([counts for counts, _, _ in moments]).astype(np.int64),
        np.stack([means for _, means, _ in moments]).astype(np.float32),
        np.stack([variances for _, _, variances in moments]).astype(np.float32),
    )


def measure_confidence(found: FoundGroups, seed: int) -> Confidence:
    """How sure the groups are that were found, or the best ones where there are none."""
    best = max(found.silhouettes, key=lambda k: found.silhouettes[k], default=2)
    count = len(found.partition) if found.has_groups else best
    rng = generator("looking", seed)
    squares = sample_clients(Matrix(found.clients, found.squared), min(MAX_COMPARED, len(found.clients)), rng)
    some = Matrix(squares.clients, np.sqrt(np.maximum(squares.values, 0)))
    heights = np.sqrt(np.maximum(found.tree[::-1, 2], 0))  # the last merge first
    ratio = 1.0
    if 2 <= count < len(heights):  # heights begin with the first merge: nothing is below that one
        least = max(float(heights[0]) / MAX_HEIGHT_RATIO, np.finfo(float).tiny)  # a group may have no width at all
        ratio = max(float(heights[count - 2]) / max(float(heights[count - 1]), least), 1.0)
    stable = stability(some, cut_into_groups(some, count), rng) if count > 1 else 1.0
    return Confidence(max(found.separations.values()), MIN_SEPARATION, ratio, stable)
