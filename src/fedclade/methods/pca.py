"""PCA+kM+HC: groups from principal components, k-means at each client, hierarchical clustering on the server.

FLT's paper (Jamali-Rad et al., 2022) compares with it. Once, before training, each client places its examples in
principal components and sends the few centres of k-means; the server links clients by the distance of these sets and
trains a model for each group by FedAvg. The components are those of all examples together, found from sums: no client's
examples leave it. FLT's published code takes each client's own components, in which places cannot be compared; that is
the option `basis = "own"`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.fleet import Fleet, Sketching
from fedclade.methods.mixing import Absent, mixed
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First
from fedclade.nouns import Assignment, ClientId, Round, Row, Rows, settings
from fedclade.relate.components import principal
from fedclade.relate.distances import Matrix, smallest
from fedclade.relate.number import given_number, number_of_groups
from fedclade.relate.set_distances import matched, mean_of_nearest

ENCODER = "pixels"
DISTANCES: dict[str, Callable[[Mapping[ClientId, NDArray[np.float32]]], Matrix]] = {
    "nearest": mean_of_nearest,
    "matched": matched,
    "smallest": smallest,
}


@dataclass(frozen=True, eq=False)
class Grouped:
    """The groups' models, who is in which, and what clients look like."""

    rows: Rows
    """(groups, parameters)"""
    home: dict[ClientId, int]
    """The group of each client that has been sketched."""
    clients: tuple[ClientId, ...]
    initial: Row
    basis: Rows
    """(1 + components, numbers of an example): the middle and the components; empty where each client has its own."""
    points: dict[ClientId, Row]
    """The sketch of each client, one point after the other."""


@settings
class PCA:
    """Finds groups once, from k-means centres in principal components, and trains a model for each."""

    components: Annotated[int, Field(ge=1, le=10_000)] = 128
    """Principal components; never more than an example has numbers."""
    points: Annotated[int, Field(ge=1, le=1000)] = 5
    """k of k-means at each client."""
    basis: Literal["shared", "own"] = "shared"
    """Components of all examples together, or each client's own, as in FLT's published code."""
    distance: Literal["nearest", "matched", "smallest"] = "nearest"
    """Between sets of points: the mean to the nearest, both ways; one to one; or that of the nearest pair."""
    groups: Annotated[int, Field(ge=0, le=10_000)] = 0
    """How many groups; 0: found."""
    gate: Annotated[float, Field(ge=0, le=1)] = 0.25
    """How far groups must stand apart to be groups, and 1.2 / clients more; below it the answer is one group."""
    absent: Absent = "participants"
    """As in FedAvg."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Grouped, Facts]:
        row, none = first(0), np.zeros((0, 0), np.float32)
        return self.found(Grouped(row[None], {}, fleet.clients(), row, none, {}), fleet, now)

    def round(self, state: Grouped, fleet: Fleet, now: Round) -> tuple[Grouped, Facts]:
        chosen = now.sample(fleet.clients())
        news: Facts = {}
        if not state.points:  # nobody answered at first
            state, news = self.found(state, fleet, now)
        state = self.settled(state, [client for client in chosen if client not in state.home], fleet, now)
        there = {client: state.home[client] for client in chosen if client in state.home}
        means = fleet.train_mean(Assignment(state.rows, there), now)
        rows = means.rows
        if self.absent != "participants":
            models = Assignment(state.rows, {one: state.home[one] for one in fleet.clients() if one in state.home})
            rows = mixed(models, means, fleet.examples(models.clients), self.absent)
        return replace(state, rows=rows), {
            "asked": len(chosen),
            "heard": len(means.heard),
            "loss": means.loss,
            **news,
        }

    def assignment(self, state: Grouped) -> Assignment:
        usual = int(np.bincount(list(state.home.values()), minlength=1).argmax())  # for who has not been sketched yet
        return Assignment(state.rows, {client: state.home.get(client, usual) for client in state.clients})

    def place(self, state: Grouped, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> tuple[Grouped, Facts]:
        joined = replace(state, clients=tuple(sorted({*state.clients, *newcomers})))
        return (self.settled(joined, newcomers, fleet, now) if state.points else joined), {}

    def found(self, state: Grouped, fleet: Fleet, now: Round) -> tuple[Grouped, Facts]:
        """The groups, from those who answer."""
        basis, share = state.basis, 0.0
        if self.basis == "shared":
            sums = fleet.scatter(fleet.clients(), ENCODER, now)
            if sums.examples < 2:
                return state, {}
            basis, share = principal(sums.examples, sums.total, sums.products, self.components)
        points = self.sketched(fleet.clients(), basis, fleet, now)
        if not points:
            return state, {}
        distances = DISTANCES[self.distance](points)
        facts: dict[str, Fact] = {"variance_explained": share}
        if self.groups:
            groups = given_number(distances, self.groups)
        else:
            number = number_of_groups(distances, now.generator("number of groups"), gate=self.gate)
            groups = number.groups
            facts |= {"gate": number.gate, "stability": number.stability}
            facts |= {"by_height_ratio": number.height_ratio, "by_gap": number.gap}
        rows = np.repeat(state.initial[None], len(groups), axis=0)
        flat = {client: own.reshape(-1) for client, own in points.items()}
        grouped = replace(state, rows=rows, home=groups.labels, basis=basis, points=flat)
        return grouped, {"discovery": facts}

    def settled(self, state: Grouped, whom: Sequence[ClientId], fleet: Fleet, now: Round) -> Grouped:
        """These clients in the group that they are nearest to, on the mean over its members."""
        if not whom or not state.points:
            return state
        new = self.sketched(whom, state.basis, fleet, now)
        width = self.components if not len(state.basis) else len(state.basis) - 1
        known = {client: own.reshape(-1, width) for client, own in state.points.items()}
        home = dict(state.home)
        apart = DISTANCES[self.distance]({**known, **new}).values[len(known) :, : len(known)]
        labels = np.array([state.home[other] for other in known])
        for client, row in zip(new, apart, strict=True):
            home[client] = int(np.argmin(np.bincount(labels, row) / np.maximum(np.bincount(labels), 1)))
        flat = {client: own.reshape(-1) for client, own in new.items()}
        return replace(state, home=home, points={**state.points, **flat})

    def sketched(
        self, clients: Sequence[ClientId], basis: Rows, fleet: Fleet, now: Round
    ) -> Mapping[ClientId, NDArray[np.float32]]:
        """The points of those who answer."""
        if self.basis == "own":
            how = Sketching(ENCODER, self.points, own=self.components)
        else:
            how = Sketching(ENCODER, self.points, basis=basis)
        return fleet.sketch(clients, how, now).points
