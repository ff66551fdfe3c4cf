"""What FLT asks clients about their data, and how the server finds groups in it.

class-moments   of every label: count, mean and its variance in a public basis. Sees features and labels
encoder         k points: the client's examples through an encoder, reduced by k-means (the paper). Sees features only
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from fedclade.fleet import Fleet, Sketching
from fedclade.methods.needs import Needs, no_check
from fedclade.methods.taskonomy import NO_WEIGHTS
from fedclade.nouns import Assignment, ClientId, LocalTraining, Moments, Points, Round, Row
from fedclade.nouns.points import filled
from fedclade.relate.discovery import GATE, Found, discover
from fedclade.relate.embedding import check_installed, warming
from fedclade.relate.points import Relating, related
from fedclade.relate.signatures import Told

if TYPE_CHECKING:
    from fedclade.methods.flt import FLT

PUBLIC = "public"  # the basis of class moments, which every client has
Tuning = Literal["none", "clients", "together"]


@dataclass(frozen=True, eq=False)
class Looks:
    """What clients' data look like, and the tokens by which they know them again."""

    told: Told
    tokens: Mapping[ClientId, int]


class Signature(Protocol):
    """One way to look at clients' data."""

    def prepared(self, fleet: Fleet, now: Round) -> Row:
        """The weights of the encoder that clients will be sent."""
        ...

    def looks(self, fleet: Fleet, clients: Sequence[ClientId], now: Round, weights: Row) -> Looks:
        """What these clients' data look like, of those who answer."""
        ...

    def found(self, told: Told) -> Found:
        """Algorithm 2, on the server."""
        ...


@dataclass(frozen=True, kw_only=True)
class ClassMoments:
    """Count, mean and variance of every label."""

    gate: float
    most: int
    groups: int
    fewest: int
    noise: float

    def prepared(self, fleet: Fleet, now: Round) -> Row:
        return NO_WEIGHTS

    def looks(self, fleet: Fleet, clients: Sequence[ClientId], now: Round, weights: Row) -> Looks:
        described = fleet.moments(clients, PUBLIC, self.fewest, self.noise, now)
        return Looks(described.moments, described.tokens)

    def found(self, told: Told) -> Found:
        assert isinstance(told, Moments)
        return discover(told, gate=self.gate or GATE, most=self.most, groups=self.groups)


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """A few points of each client's encoded examples."""

    encoder: str
    points: int
    tuning: Tuning
    epochs: int
    relating: Relating

    def prepared(self, fleet: Fleet, now: Round) -> Row:
        if self.relating.dimensions:
            check_installed()
            warming()  # while clients work
        weights = fleet.weights(self.encoder)
        once = replace(now, local=replace(now.local, epochs=1))
        for epoch in range(self.epochs if self.tuning == "together" else 0):  # FedAvg of the autoencoder
            start = Assignment.of_one(weights, fleet.clients())
            seed = int(now.generator(f"tuning {epoch}").integers(2**31))  # other batches in every epoch
            weights = fleet.train_mean(start, replace(once, seed=seed), self.encoder).rows[0]
        return weights

    def looks(self, fleet: Fleet, clients: Sequence[ClientId], now: Round, weights: Row) -> Looks:
        epochs = self.epochs if self.tuning == "clients" else 0
        sketches = fleet.sketch(clients, Sketching(self.encoder, self.points, weights, epochs), now)
        return Looks(filled(sketches.points, sketches.counts), sketches.tokens)

    def found(self, told: Told) -> Found:
        assert isinstance(told, Points)
        return related(told, self.relating)


def signature_of(how: "FLT", now: Round) -> Signature:
    """The one that these settings ask for."""
    if how.signature == "class-moments":
        return ClassMoments(gate=how.gate, most=how.most, groups=how.groups, fewest=how.fewest, noise=how.noise)
    relating = Relating(
        distance=how.distance,
        cut=how.cut,
        dimensions=how.dimensions if how.embedding == "umap" else 0,
        gamma=how.gamma,
        gate=how.gate,
        most=how.most,
        groups=how.groups,
        seed=now.seed % 2**32,
    )
    return Encoded(
        encoder=how.encoder, points=how.points, tuning=how.tuning, epochs=how.tuning_epochs, relating=relating
    )


def needs_of_signature(how: "FLT") -> Needs:
    """What these settings need: an encoder, and UMAP where points are embedded."""
    if how.signature == "class-moments":
        return Needs()
    check = no_check if how.embedding == "none" else need_umap
    return Needs(encoder=how.encoder, tunes_encoder=how.tuning != "none", check=check)


def need_umap(_layers: Sequence[int], _local: LocalTraining) -> None:
    """An error unless UMAP is installed."""
    check_installed()
