"""FedSEM: clients belong to the centre that their model is nearest to (Xie, Long, Shen, Zhou, Jiang, 2021).

Stochastic expectation maximisation in the space of models. In a round each participant trains its centre's model. E:
each of these models goes to its nearest centre. M: a centre is the mean of its models, weighted by examples. The first
centres are those of k-means, with a k-means++ start, over the first models of clients that have trained; who has not
trained yet is no part of it: an untrained model says nothing about its client.

When not all clients take part, some train for the first time when centres have moved on. They train the first model
that all others once trained, and are compared with the first centres.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.fleet import Fleet, Updates
from fedclade.methods.mixing import Absent, damped
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First
from fedclade.nouns import Assignment, ClientId, Round, Row, Rows, settings
from fedclade.relate.kmeans import centres_of, clustered, nearest

FIRST = 4  # first models for each cluster, or all there are: with fewer, k-means would miss groups


@dataclass(frozen=True, eq=False)
class Centres:
    """The centres, and who belongs to which."""

    rows: Rows
    """(clusters, parameters); one row until there are enough first models."""
    home: dict[ClientId, int]
    """The centre of each client that has trained."""
    clients: tuple[ClientId, ...]
    initial: Row
    """What every client trains first."""
    early: Rows
    """(clusters, parameters): the first centres; none yet, at first."""
    gathered: dict[ClientId, Row]
    """First models, until there are enough of them."""
    examples: dict[ClientId, int]
    """Behind each of those."""
    asked: tuple[ClientId, ...] = ()
    """Who had a chance to send one: nobody waits for a client that does not answer."""


@settings
class FedSEM:
    """Every client belongs to the centre that its trained model is nearest to."""

    clusters: Annotated[int, Field(ge=1, le=1000)] = 2
    """K: how many centres there are; fewer, if fewer clients can be heard when the first are made."""
    distance: Literal["all", "last"] = "all"
    """Between all parameters, or between those of the last layer."""
    all_join: bool = True
    """Who has never trained does so once before models are evaluated, to be placed; otherwise it waits for its turn."""
    absent: Absent = "participants"
    """As in FedAvg; who has never trained weighs nothing either way."""

    def needs(self) -> Needs:
        return Needs(sees="layers" if self.distance == "last" else "")

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Centres, Facts]:
        row = first(0)
        return Centres(row[None], {}, fleet.clients(), row, np.zeros((0, len(row)), np.float32), {}, {}), {}

    def round(self, state: Centres, fleet: Fleet, now: Round) -> tuple[Centres, Facts]:
        chosen = now.sample(fleet.clients())
        begun = np.concatenate([state.rows, state.initial[None]])
        starts = {client: state.home.get(client, len(state.rows)) for client in chosen}
        updates = fleet.train(Assignment(begun, starts), now)
        moved = 0
        if not len(state.early):
            asked = tuple(sorted({*state.asked, *chosen}))
            state = self.gathering(replace(state, asked=asked), updates, fleet, now)
        else:
            before = state
            state, moved = self.stepped(state, updates, self.seen(fleet))
            if self.absent != "participants":
                state = replace(state, rows=still(before, state, updates, fleet.examples(fleet.clients())))
        late = [client for client in fleet.clients() if client not in state.home]
        if now.judged and self.all_join and late and len(state.early):
            joined = fleet.train(Assignment.of_one(state.initial, late), now)
            state, _ = self.stepped(state, joined, self.seen(fleet))
        sizes = np.bincount(list(state.home.values()), minlength=len(state.rows)).tolist()
        return state, {
            "asked": len(chosen),
            "heard": len(updates.clients),
            "loss": updates.loss,
            "sizes": sizes,
            "moved": moved,
        }

    def assignment(self, state: Centres) -> Assignment:
        usual = int(np.bincount(list(state.home.values()), minlength=1).argmax())  # for who has not trained yet
        return Assignment(state.rows, {client: state.home.get(client, usual) for client in state.clients})

    def place(self, state: Centres, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> tuple[Centres, Facts]:
        return replace(state, clients=tuple(sorted({*state.clients, *newcomers}))), {}

    def seen(self, fleet: Fleet) -> slice:
        """The part of a row that distances are taken on."""
        layers = fleet.layers()
        return slice(None) if self.distance == "all" else slice(sum(layers[:-1]), sum(layers))

    def gathering(self, state: Centres, updates: Updates, fleet: Fleet, now: Round) -> Centres:
        """First models are collected, and clustered when there are enough."""
        gathered = {**state.gathered, **dict(zip(updates.clients, updates.rows, strict=True))}
        examples = {**state.examples, **dict(zip(updates.clients, updates.examples.tolist(), strict=True))}
        if not gathered:
            return state
        clients, rows = tuple(gathered), np.stack(list(gathered.values()))
        weights = np.array([examples[client] for client in clients], np.float64)
        if len(clients) < FIRST * self.clusters and not set(fleet.clients()) <= set(state.asked):
            mean = centres_of(dict.fromkeys(clients, 0), clients, rows, weights, state.rows)
            return replace(state, rows=mean, gathered=gathered, examples=examples)
        chance, count = now.generator("k-means"), min(self.clusters, len(clients))
        home = clustered(clients, rows[:, self.seen(fleet)], weights, count, chance)
        empty = np.repeat(state.initial[None], count, axis=0)
        early = centres_of(home, clients, rows, weights, empty)
        return replace(state, rows=early, early=early, home=home, gathered={}, examples={}, asked=())

    def stepped(self, state: Centres, updates: Updates, seen: slice) -> tuple[Centres, int]:
        """One step of E and M over who has trained now, and how many changed their centre."""
        began = np.array([client not in state.home for client in updates.clients], bool)
        homes: dict[ClientId, int] = {}
        for these, centres in ((began, state.early), (~began, state.rows)):
            clients = [client for client, is_one in zip(updates.clients, these, strict=True) if is_one]
            homes |= nearest(clients, updates.rows[these][:, seen], centres[:, seen])
        moved = sum(home != state.home.get(client, home) for client, home in homes.items())
        kept = [client for client in updates.clients if client in state.home]
        weights: NDArray[np.float64] = updates.examples[~began].astype(np.float64)
        rows = centres_of(homes, kept, updates.rows[~began], weights, state.rows)
        return replace(state, rows=rows, home={**state.home, **homes}), moved


def still(before: Centres, after: Centres, updates: Updates, examples: Mapping[ClientId, int]) -> Rows:
    """The new centres, held back by clients that did not train: each weighs in with the centre that it has."""
    count = len(before.rows)
    heard, silent = np.zeros(count), np.zeros(count)
    trained = dict(zip(updates.clients, updates.examples.tolist(), strict=True))
    for client, home in before.home.items():
        if client in trained:
            heard[after.home[client]] += trained[client]
        elif client in examples:  # who has left weighs nothing
            silent[home] += examples[client]
    return damped(before.rows, after.rows, heard / np.maximum(heard + silent, 1))
