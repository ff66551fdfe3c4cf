"""Which clients of a user's own data belong together, and how sure that is. Nothing is trained.

The groups are those that FLT finds in a run on the same data: from the examples that a run learns from, prepared in the
same way, asked of the clients by the same verb.
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
from fedclade.core.task import Labels
from fedclade.data import Federation
from fedclade.methods import FLT
from fedclade.methods.flt.class_moments import MIN_SEPARATION, groups_of_moments
from fedclade.methods.flt.found_groups import FoundGroups, discovery_facts
from fedclade.nets.encoders import encoder_named
from fedclade.nets.weight_files import open_encoder
from fedclade.runs import group_search

MIN_CLIENTS = 4  # clients: of three, no group can stand apart from another
MAX_LABELS = 1000  # more are a column of names or of measurements
MAX_NUMBERS = 2**28  # numbers that all clients' moments may take
MAX_HEIGHT_RATIO = 1000.0  # of heights: more says no more
MAX_NAMED = 5  # clients unlike all others that the answer names
MAX_COMPARED = 1000  # clients that stability looks at


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

    federation: Federation
    found: FoundGroups
    confidence: Confidence

    @property
    def has_groups(self) -> bool:
        """Whether there are groups; if not, use one model."""
        return self.found.has_groups

    @property
    def examples(self) -> int:
        """Of all clients, also those that a run would hold out."""
        return sum(len(held.train) + len(held.test) for held in self.federation.data.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Of the inputs; empty where these are images."""
        if self.federation.preparation is not None:
            return self.federation.preparation.names
        width = self.federation.shape
        return tuple(f"input {number}" for number in range(*width)) if len(width) == 1 else ()

    @property
    def left_out(self) -> Mapping[str, str]:
        """Columns that are no input, and why."""
        return self.federation.preparation.left_out if self.federation.preparation is not None else {}

    @property
    def class_names(self) -> tuple[str, ...]:
        """Of the kinds of labels: classes, flags, or intervals of a number; empty where there are none."""
        return self.federation.task.kind_names

    def label_kinds(self, client: ClientId) -> NDArray[np.bool_]:
        """(examples, kinds of labels) of a client: which one has which."""
        return self.federation.task.kinds_of(self._labels(client))

    def label_numbers(self, client: ClientId) -> NDArray[np.float64]:
        """(examples,) of a client: the labels of a regression, in their own unit; none of another task."""
        task = self.federation.task
        if task.labels != "number":
            return np.zeros(0)
        return self._labels(client).astype(np.float64) * task.scale + task.centre

    def _labels(self, client: ClientId) -> Labels:
        held = self.federation[client]
        return np.concatenate([held.train.labels, held.test.labels])

    def inputs(self, client: ClientId) -> NDArray[np.float64]:
        """(examples, inputs) of a client, less the means of all examples; numbers over their deviation too."""
        return (self._inputs(client) - self.means) / self._scale

    @property
    def are_numbers(self) -> NDArray[np.bool_]:
        """(inputs,): whether each is a number; if not, it is 0 or 1."""
        made = self.federation.preparation
        return np.array(made.shown_as_numbers if made is not None else (True,) * len(self.names), bool)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """(inputs,): of all examples."""
        return np.asarray(sum(self._inputs(client).sum(axis=0) for client in self.federation.clients) / self.examples)

    @cached_property
    def _scale(self) -> NDArray[np.float64]:
        squares = sum(((self._inputs(client) - self.means) ** 2).sum(axis=0) for client in self.federation.clients)
        deviations = np.sqrt(np.asarray(squares) / self.examples)
        return np.where(self.are_numbers & (deviations > 0), deviations, 1.0)

    def _inputs(self, client: ClientId) -> NDArray[np.float64]:
        held = self.federation[client]
        return np.concatenate([held.train.inputs, held.test.inputs]).astype(np.float64)

    @cached_property
    def facts(self) -> Mapping[str, object]:
        """The facts that plots are drawn from."""
        return discovery_facts(self.found)

    def sentence(self) -> str:
        """The answer in a sentence."""
        clients, alone = len(self.federation), len(self.found.outliers)
        if not self.has_groups and alone:
            named = ", ".join(self.found.outliers[:MAX_NAMED]) + (", ..." if alone > MAX_NAMED else "")
            return f"one model for {clients - alone} clients; {alone} unlike all others: {named}"
        if not self.has_groups:
            return f"no clear groups: use one model for all {clients} clients"
        also = f", and {alone} client{'s' if alone > 1 else ''} unlike all others" if alone else ""
        return f"{self.found.count} groups in {clients} clients{also}"


def find_own_groups(federation: Federation, *, encoder: str = "", seed: int = 0) -> GroupAnswer:
    """Find the groups. The seed decides which clients are left out where stability is measured.

    With the name of an encoder images are seen through that one, and not as FLT sees them.
    """
    check(federation)
    if encoder:
        found = groups_of_moments(encoded_moments(federation, encoder))
    else:
        found = group_search.find_groups(federation, FLT().find, seed=seed)
    return GroupAnswer(federation, found, measure_confidence(found, seed))


def check(federation: Federation) -> None:
    """An error if there is nothing to compare."""
    clients, labels, do = len(federation), federation.task.label_kinds, "is this the right column?"
    if clients < MIN_CLIENTS:
        got, need = f"{clients}: {', '.join(federation.clients[:MIN_CLIENTS])}", f"at least {MIN_CLIENTS}"
        raise InputError("there are too few clients to compare", where=federation.name, got=got, need=need, do=do)
    if labels > MAX_LABELS:
        need, do = f"at most {MAX_LABELS}", f"{do} or leave --label out"
        raise InputError("there are too many labels", where=federation.name, got=str(labels), need=need, do=do)
    width = int(np.prod(federation.shape))
    if clients * labels * width > MAX_NUMBERS:
        what, got = "clients, labels and inputs are too many together", f"{clients} x {labels} x {width}"
        do = "leave columns out, or --label"
        raise InputError(what, where=federation.name, got=got, need=f"at most {MAX_NUMBERS}", do=do)


def encoded_moments(federation: Federation, encoder: str) -> Moments:
    """Count, mean and variance of every client and label, of images through this encoder."""
    if len(federation.shape) == 1:
        need = "none: columns are compared"
        raise InputError("a table needs no encoder", where="--encoder", got=encoder, need=need)
    known = open_encoder(encoder, federation.shape)
    made = encoder_named(known.kind, known.weights)
    parts = [held.train for held in federation.data.values()]
    moments = [
        label_moments(
            made.encode(part.inputs).astype(np.float64),
            federation.task.kinds_of(part.labels),
            federation.task.numbers_of(part.labels),
        )
        for part in parts
    ]
    return Moments(
        federation.clients,
        np.stack([counts for counts, _, _ in moments]).astype(np.int64),
        np.stack([means for _, means, _ in moments]).astype(np.float32),
        np.stack([variances for _, _, variances in moments]).astype(np.float32),
        federation.task.labels == "number",
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
