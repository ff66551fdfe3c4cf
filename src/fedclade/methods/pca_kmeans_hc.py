"""PCA+kM+HC: groups from principal components, k-means at each client, hierarchical clustering on the server.

FLT's paper (Jamali-Rad et al., 2022) compares with it. Once, before training, each client places its examples in
principal components and sends the few centres of k-means; the server links clients by the distance of these sets and
trains a model for each group by FedAvg. The components are those of all examples together, found from sums: no examples
leave a client. FLT's published code takes the components of each client's own examples, in which places cannot be
compared; that is the option `basis = "own"`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.clustering.group_number import cut_into_groups, number_of_groups
from fedclade.clustering.point_distances import PointDistance, set_distances
from fedclade.core import Assignment, ClientId, InputError, Round, Row, Rows, settings
from fedclade.fleet import Fleet, Sketching
from fedclade.methods.mixing import Absent, mix_rows
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First

ENCODER = "pixels"


@dataclass(frozen=True, eq=False)
class PCAState:
    """The models of the groups, the group of each client, and the sketches of clients."""

    rows: Rows
    """(groups, parameters)"""
    group_by_client: dict[ClientId, int]
    """The group of each client that has been sketched."""
    clients: tuple[ClientId, ...]
    initial: Row
    basis: Rows
    """(1 + components, numbers of an example): the middle and the components; empty where each client has its own."""
    points: dict[ClientId, Row]
    """The sketch of each client, one point after the other."""


@settings
class PCAKMeansHC:
    """Finds groups once, from k-means centres in principal components, and trains a model for each."""

    components: Annotated[int, Field(ge=1, le=10_000)] = 128
    """Principal components; never more than an example has numbers."""
    points: Annotated[int, Field(ge=1, le=1000)] = 5
    """k of k-means at each client."""
    basis: Literal["shared", "own"] = "shared"
    """Components of all examples together, or each client's own, as in FLT's published code."""
    distance: PointDistance = "nearest"
    """Between sets of points: the mean to the nearest, both ways; one to one; or that of the nearest pair."""
    groups: Annotated[int, Field(ge=0, le=10_000)] = 0
    """How many groups; 0: found."""
    min_separation: Annotated[float, Field(ge=0, le=1)] = 0.25
    """How far groups must stand apart to be groups, and 1.2 / clients more; below it the answer is one group."""
    absent: Absent = "participants"
    """As in FedAvg."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[PCAState, Facts]:
        row, none = first(0), np.zeros((0, 0), np.float32)
        return self.find_groups(PCAState(row[None], {}, fleet.clients(), row, none, {}), fleet, now)

    def round(self, state: PCAState, fleet: Fleet, now: Round) -> tuple[PCAState, Facts]:
        chosen = now.sample(fleet.clients())
        found: Facts = {}
        if not state.points:  # no client answered before
            state, found = self.find_groups(state, fleet, now)
        new = [client for client in chosen if client not in state.group_by_client]
        state = self.place_clients(state, new, fleet, now)
        groups = {client: state.group_by_client[client] for client in chosen if client in state.group_by_client}
        means = fleet.train_mean(Assignment(state.rows, groups), now)
        known, there = state.group_by_client, fleet.clients()
        placed = ((client, known[client]) for client in there if client in known)  # read for `stale` alone
        rows = mix_rows(means, self.absent, lambda: Assignment(state.rows, dict(placed)), fleet)
        facts: Facts = {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss, **found}
        return replace(state, rows=rows), facts

    def assignment(self, state: PCAState) -> Assignment:
        largest = int(np.bincount(list(state.group_by_client.values()), minlength=1).argmax())
        # A client that has not been sketched yet has the model of the largest group.
        return Assignment(state.rows, {client: state.group_by_client.get(client, largest) for client in state.clients})

    def place(
        self, state: PCAState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[PCAState, Facts]:
        joined = replace(state, clients=tuple(sorted({*state.clients, *newcomers})))
        return self.place_clients(joined, newcomers, fleet, now), {}

    def find_groups(self, state: PCAState, fleet: Fleet, now: Round) -> tuple[PCAState, Facts]:
        """The groups, from the clients that answer."""
        basis, share = state.basis, 0.0
        if self.basis == "shared":
            sums = fleet.scatter(fleet.clients(), ENCODER, now)
            if sums.examples < 2:
                return state, {}
            basis, share = principal_components(sums.examples, sums.total, sums.products, self.components)
        points = self.sketch_clients(fleet.clients(), basis, fleet, now)
        if not points:
            return state, {}
        distances = set_distances(self.distance, points)
        facts: dict[str, Fact] = {"variance_explained": share}
        if self.groups:
            groups = cut_into_groups(distances, self.groups)
        else:
            number = number_of_groups(distances, now.generator("number of groups"), min_separation=self.min_separation)
            groups = number.groups
            facts |= {"gate": number.separation, "stability": number.stability}
            facts |= {"by_height_ratio": number.height_ratio, "by_gap": number.gap}
        rows = np.repeat(state.initial[None], len(groups), axis=0)
        flat = {client: own.reshape(-1) for client, own in points.items()}
        grouped = replace(state, rows=rows, group_by_client=groups.labels, basis=basis, points=flat)
        return grouped, {"discovery": facts}

    def place_clients(self, state: PCAState, clients: Sequence[ClientId], fleet: Fleet, now: Round) -> PCAState:
        """Put these clients into the group that they are nearest to, in the mean over its members."""
        if not clients or not state.points:
            return state
        new = self.sketch_clients(clients, state.basis, fleet, now)
        width = len(state.basis) - 1 if len(state.basis) else self.components
        known = {client: own.reshape(-1, width) for client, own in state.points.items()}
        groups = dict(state.group_by_client)
        apart = set_distances(self.distance, {**known, **new}).values[len(known) :, : len(known)]
        labels = np.array([state.group_by_client[other] for other in known])
        sizes = np.maximum(np.bincount(labels), 1)
        for client, row in zip(new, apart, strict=True):
            groups[client] = int(np.argmin(np.bincount(labels, row) / sizes))
        flat = {client: own.reshape(-1) for client, own in new.items()}
        return replace(state, group_by_client=groups, points={**state.points, **flat})

    def sketch_clients(
        self, clients: Sequence[ClientId], basis: Rows, fleet: Fleet, now: Round
    ) -> Mapping[ClientId, NDArray[np.float32]]:
        """The points of the clients that answer."""
        if self.basis == "own":
            how = Sketching(ENCODER, self.points, own_components=self.components)
        else:
            how = Sketching(ENCODER, self.points, basis=basis)
        return fleet.sketch(clients, how, now).points


def principal_components(
    examples: int, total: NDArray[np.float64], products: NDArray[np.float64], components: int
) -> tuple[Rows, float]:
    """The mean and the first principal components, (1 + components, features), and their share of the variance.

    From the number of examples, their sum (features,) and the sum of their outer products (features, features). There
    are never more components than features. Each one's largest weight is positive, so that its sign is not random.
    """
    if examples < 2:
        raise InputError("there is no basis of so few examples", got=str(examples), need="2 or more")
    mean = total / examples
    values, vectors = np.linalg.eigh(products / examples - np.outer(mean, mean))
    axes = vectors[:, ::-1][:, : min(components, len(mean))].T
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    explained = np.maximum(values[::-1], 0)
    share = float(explained[: len(axes)].sum() / explained.sum()) if explained.any() else 0.0
    return np.concatenate([mean[None], axes * np.sign(largest)]).astype(np.float32), share
