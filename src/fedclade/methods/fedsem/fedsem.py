"""FedSEM: clients belong to the centre that their model is nearest to (Xie, Long, Shen, Zhou, Jiang, 2021).

Stochastic expectation maximisation in the space of models. In a round each participant trains the model of its centre.
E: each of these models goes to its nearest centre. M: a centre is the mean of its models, weighted by examples. The
first centres are those of k-means, with a k-means++ start, over the first models of clients that have trained. Clients
that have not trained yet are left out: an untrained model says nothing about its client.

When not all clients take part, some train for the first time after centres have moved. They train the first model that
all others once trained, and are compared with the first centres.

FLT's published code has another FedSEM, `absent = "clustered"`: in every round k-means goes over the models of all
clients. Those that have never trained have the first model, all equal, and take a centre of their own until they train.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.core import Assignment, ClientId, Round, Row, Rows, settings
from fedclade.fleet import Fleet, Updates
from fedclade.methods.fedsem.kmeans import centres_of, cluster_rows, continue_clusters, nearest_centres
from fedclade.methods.mixing import Absent, interpolate_rows
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First

FIRST_MODELS_PER_CLUSTER = 4  # first models for each cluster, or all there are: with fewer, k-means would miss groups


@dataclass(frozen=True, eq=False)
class FedSEMState:
    """The centres, and the centre of each client."""

    rows: Rows
    """(clusters, parameters); one row until there are enough first models."""
    centre_by_client: dict[ClientId, int]
    """The centre of each client that has trained."""
    clients: tuple[ClientId, ...]
    initial: Row
    """What every client trains first."""
    first_centres: Rows
    """(clusters, parameters): the first centres; no rows until there are any."""
    gathered: dict[ClientId, Row]
    """First models, until there are enough of them."""
    examples: dict[ClientId, int]
    """Behind each first model."""
    asked: tuple[ClientId, ...] = ()
    """The clients that were asked for one: the others do not wait for a client that does not answer."""


@settings
class FedSEM:
    """Every client belongs to the centre that its trained model is nearest to."""

    clusters: Annotated[int, Field(ge=1, le=1000)] = 2
    """K: how many centres there are; fewer, if fewer clients are heard when the first are made."""
    distance: Literal["all", "last"] = "all"
    """Between all parameters, or between those of the last layer."""
    all_join: bool = True
    """A client that has never trained does so before models are evaluated, to be placed; else it waits its turn."""
    absent: Absent | Literal["clustered"] = "participants"
    """As in FedAvg, and a client that has never trained weighs nothing; clustered: all clients are, in every round."""

    def needs(self) -> Needs:
        return Needs(sees="layers" if self.distance == "last" else "")

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[FedSEMState, Facts]:
        row = first(0)
        return FedSEMState(row[None], {}, fleet.clients(), row, np.zeros((0, len(row)), np.float32), {}, {}), {}

    def round(self, state: FedSEMState, fleet: Fleet, now: Round) -> tuple[FedSEMState, Facts]:
        chosen = now.sample(fleet.clients())
        starts = {client: state.centre_by_client.get(client, len(state.rows)) for client in chosen}
        updates = fleet.train(Assignment(np.concatenate([state.rows, state.initial[None]]), starts), now)
        moved = 0
        if self.absent == "clustered":
            state, moved = self.cluster_everybody(state, updates, fleet, now)
        elif not len(state.first_centres):
            asked = tuple(sorted({*state.asked, *chosen}))
            state = self.gather_first_models(replace(state, asked=asked), updates, fleet, now)
        else:
            before = state
            state, moved = self.em_step(state, updates, self.compared_slice(fleet))
            if self.absent == "stale":
                state = replace(state, rows=hold_back_centres(before, state, updates, fleet.examples(fleet.clients())))
        late = [client for client in fleet.clients() if client not in state.centre_by_client]
        if now.evaluated and self.all_join and late and len(state.first_centres):
            joined = fleet.train(Assignment.of_one(state.initial, late), now)
            state, _ = self.em_step(state, joined, self.compared_slice(fleet))
        sizes = np.bincount(list(state.centre_by_client.values()), minlength=len(state.rows)).tolist()
        facts: Facts = {"asked": len(chosen), "heard": len(updates.clients), "loss": updates.loss}
        return state, {**facts, "sizes": sizes, "moved": moved}

    def assignment(self, state: FedSEMState) -> Assignment:
        largest = int(np.bincount(list(state.centre_by_client.values()), minlength=1).argmax())
        # A client that has not trained yet has the model of the largest cluster.
        return Assignment(state.rows, {client: state.centre_by_client.get(client, largest) for client in state.clients})

    def place(
        self, state: FedSEMState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[FedSEMState, Facts]:
        return replace(state, clients=tuple(sorted({*state.clients, *newcomers}))), {}

    def compared_slice(self, fleet: Fleet) -> slice:
        """The part of a row that distances are taken on."""
        layers = fleet.layers()
        return slice(None) if self.distance == "all" else slice(sum(layers[:-1]), sum(layers))

    def gather_first_models(self, state: FedSEMState, updates: Updates, fleet: Fleet, now: Round) -> FedSEMState:
        """Collect first models, and cluster them when there are enough."""
        gathered = {**state.gathered, **dict(zip(updates.clients, updates.rows, strict=True))}
        examples = {**state.examples, **dict(zip(updates.clients, updates.examples.tolist(), strict=True))}
        if not gathered:
            return state
        clients, rows = tuple(gathered), np.stack(list(gathered.values()))
        weights = np.array([examples[client] for client in clients], np.float64)
        if len(clients) < FIRST_MODELS_PER_CLUSTER * self.clusters and not set(fleet.clients()) <= set(state.asked):
            mean = centres_of(dict.fromkeys(clients, 0), clients, rows, weights, state.rows)
            return replace(state, rows=mean, gathered=gathered, examples=examples)
        rng, count = now.generator("k-means"), min(self.clusters, len(clients))
        home = cluster_rows(clients, rows[:, self.compared_slice(fleet)], weights, count, rng)
        first = centres_of(home, clients, rows, weights, np.repeat(state.initial[None], count, axis=0))
        state = replace(state, rows=first, first_centres=first, centre_by_client=home)
        return replace(state, gathered={}, examples={}, asked=())

    def em_step(self, state: FedSEMState, updates: Updates, compared: slice) -> tuple[FedSEMState, int]:
        """One step of E and M over these updates, and how many clients changed their centre."""
        began = np.array([client not in state.centre_by_client for client in updates.clients], bool)
        homes: dict[ClientId, int] = {}
        for these, centres in ((began, state.first_centres), (~began, state.rows)):
            clients = [client for client, is_one in zip(updates.clients, these, strict=True) if is_one]
            homes |= nearest_centres(clients, updates.rows[these][:, compared], centres[:, compared])
        moved = sum(home != state.centre_by_client.get(client, home) for client, home in homes.items())
        kept = [client for client in updates.clients if client in state.centre_by_client]
        weights: NDArray[np.float64] = updates.examples[~began].astype(np.float64)
        rows = centres_of(homes, kept, updates.rows[~began], weights, state.rows)
        return replace(state, rows=rows, centre_by_client={**state.centre_by_client, **homes}), moved

    def cluster_everybody(
        self, state: FedSEMState, updates: Updates, fleet: Fleet, now: Round
    ) -> tuple[FedSEMState, int]:
        """Published by FLT's authors: k-means over the models of all clients; how many changed their centre.

        A client that did not train has the model of its centre, or the first one. Clients with one model are one point
        of k-means, which counts as many as they are. Later rounds start at the centres; theirs at means in which every
        client weighs the same.
        """
        if not updates.clients:
            return state, 0
        holders: dict[int, list[ClientId]] = {}  # by centre, or one more for the first model: who did not train
        for client in fleet.clients():
            if client not in updates.clients:
                holders.setdefault(state.centre_by_client.get(client, len(state.rows)), []).append(client)
        members = [[client] for client in updates.clients] + list(holders.values())
        rows = np.concatenate([updates.rows, np.concatenate([state.rows, state.initial[None]])[list(holders)]])
        counts = np.array([len(each) for each in members], np.float64)
        points, compared = [each[0] for each in members], rows[:, self.compared_slice(fleet)]
        if state.centre_by_client:
            old = state.rows
            home = continue_clusters(points, compared, counts, old[:, self.compared_slice(fleet)])
        else:
            old = np.repeat(state.initial[None], min(self.clusters, len(points)), axis=0)
            home = cluster_rows(points, compared, counts, len(old), now.generator("k-means"))
        examples = {
            **fleet.examples(fleet.clients()),
            **dict(zip(updates.clients, updates.examples.tolist(), strict=True)),
        }
        weights = np.array([sum(examples[client] for client in each) for each in members], np.float64)
        homes = {client: home[each[0]] for each in members for client in each}
        moved = sum(there != state.centre_by_client.get(client, there) for client, there in homes.items())
        new = centres_of(home, points, rows, weights, old)
        return replace(state, rows=new, centre_by_client={**state.centre_by_client, **homes}), moved


def hold_back_centres(
    before: FedSEMState, after: FedSEMState, updates: Updates, examples: Mapping[ClientId, int]
) -> Rows:
    """The new centres, held back by clients that did not train: each counts with the centre that it has."""
    count = len(before.rows)
    heard, silent = np.zeros(count), np.zeros(count)
    trained = dict(zip(updates.clients, updates.examples.tolist(), strict=True))
    for client, home in before.centre_by_client.items():
        if client in trained:
            heard[after.centre_by_client[client]] += trained[client]
        elif client in examples:  # a client that has left weighs nothing
            silent[home] += examples[client]
    return interpolate_rows(before.rows, after.rows, heard / np.maximum(heard + silent, 1))
