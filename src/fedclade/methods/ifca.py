"""IFCA: every client joins the cluster whose model fits its data best (Ghosh, Chung, Yin, Ramchandran, 2020).

There are K models. In a round each participant is sent all of them, takes the one with the lowest loss on its training
data and trains that copy; the new value of a model is the mean of the clients that took it. K models go down to each
participant and one comes up: (K + 1) / 2 times what FedAvg sends. Which groups are found depends on the K first models,
so several starts can be tried for some rounds; the one with the lowest training loss goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.core import Assignment, ClientId, InputError, LocalTraining, Round, Rows, settings
from fedclade.core.training import SGD
from fedclade.fleet import Fleet, Losses, Means
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First

FULL_BATCH = 10**9  # a batch of all examples


@dataclass(frozen=True, eq=False)
class IFCAState:
    """The models of the clusters, one start after the other, and the cluster that each client chose."""

    rows: Rows
    """(starts x clusters, parameters)"""
    clusters_by_client: dict[ClientId, tuple[int, ...]]
    """The cluster of each client, for each start."""
    best_start: int = 0
    """The start with the lowest training loss so far."""


@settings
class IFCA:
    """Every client joins the cluster whose model has the lowest loss on its data."""

    clusters: Annotated[int, Field(ge=1, le=1000)] = 2
    """K: how many models there are. A cluster that no client chooses keeps its model."""
    start_from: Literal["random", "fedavg"] = "random"
    """Different random models, or one trained by FedAvg for `warmup` rounds and then perturbed."""
    warmup: Annotated[int, Field(ge=1)] = 5
    """Rounds of FedAvg, if it starts from that."""
    perturbation: Annotated[float, Field(gt=0)] = 0.1
    """How far each weight is then moved, as a share of its size: a standard deviation."""
    averaging: Literal["models", "gradients"] = "models"
    """The mean of trained models, or one step along the mean of the participants' full gradients."""
    shared: Annotated[int, Field(ge=0)] = 0
    """Number of first layers that have the same weights in all clusters, learned from all clients; never all layers."""
    restarts: Annotated[int, Field(ge=1, le=100)] = 3
    """Starts that are tried side by side. Each costs as much as a run of its own while it lasts."""
    trial: Annotated[int, Field(ge=1)] = 5
    """Rounds after which the start with the lowest training loss goes on alone."""
    all_choose: bool = True
    """Whether all clients choose before models are evaluated, by training loss; otherwise only participants do."""

    def needs(self) -> Needs:
        first_models = self.restarts * self.clusters if self.start_from == "random" else 1
        return Needs(sees=self.sees(), first_models=first_models, check=self.check_training)

    def check_training(self, layers: Sequence[int], local: LocalTraining) -> None:
        """An error if the net has no layers but shared ones, or if an optimiser would change what is a gradient."""
        if self.shared >= len(layers):
            need = f"at most {len(layers) - 1}: this net has {len(layers)} layers"
            raise InputError("clusters share everything", where="method.shared", got=str(self.shared), need=need)
        if self.averaging == "gradients" and not isinstance(local.optimizer, SGD):
            got, need = f'"{local.optimizer.kind}" with averaging "gradients"', '"sgd", or averaging "models"'
            raise InputError("gradients are averaged as they are", where="local.optimizer", got=got, need=need)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[IFCAState, Facts]:
        if self.start_from == "fedavg":
            return IFCAState(first(0)[None], dict.fromkeys(fleet.clients(), (0,))), {}
        rows = np.stack([first(number) for number in range(self.restarts * self.clusters)])
        return IFCAState(self.share_layers(rows, fleet), dict.fromkeys(fleet.clients(), (0,) * self.restarts)), {}

    def round(self, state: IFCAState, fleet: Fleet, now: Round) -> tuple[IFCAState, Facts]:
        chosen = now.sample(fleet.clients())
        trial = self.trial + (self.warmup if self.start_from == "fedavg" else 0)
        if now.number > trial:
            state = self.keep_best_start(state)
        clusters = self.clusters_per_start(state)
        starts = np.split(state.rows, len(state.rows) // clusters)
        trained = [self.train_start(rows, chosen, fleet, now, choose=len(state.rows) > 1) for rows in starts]
        after = self.with_choices(state, [losses for _, _, losses in trained])
        after = replace(after, rows=np.concatenate([rows for rows, _, _ in trained]))
        _, means, losses = trained[after.best_start]
        sizes = np.bincount(list(losses.best_row().values()), minlength=clusters)
        facts: dict[str, Fact] = {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss}
        facts |= {"sizes": sizes.tolist(), "starts": len(starts), "best_start": after.best_start}
        if self.start_from == "fedavg" and now.number == self.warmup:
            after = self.perturb_copies(after, fleet, now)
        if now.evaluated and self.all_choose:
            after = self.choose_clusters(after, fleet.clients(), fleet, now)
        return after, facts

    def assignment(self, state: IFCAState) -> Assignment:
        best, clusters = state.best_start, self.clusters_per_start(state)
        rows = state.rows[best * clusters : (best + 1) * clusters]
        return Assignment(rows, {client: chosen[best] for client, chosen in state.clusters_by_client.items()})

    def place(
        self, state: IFCAState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[IFCAState, Facts]:
        first = dict.fromkeys(newcomers, (0,) * (len(state.rows) // self.clusters_per_start(state)))
        joined = replace(state, clusters_by_client={**state.clusters_by_client, **first})
        return replace(self.choose_clusters(joined, newcomers, fleet, now), best_start=state.best_start), {}

    def clusters_per_start(self, state: IFCAState) -> int:
        """Clusters of one start: one, while it is FedAvg."""
        return min(self.clusters, len(state.rows))

    def choose_clusters(self, state: IFCAState, clients: Sequence[ClientId], fleet: Fleet, now: Round) -> IFCAState:
        """Put each of these clients into the cluster with the lowest loss; where there is one model, none is asked."""
        if len(state.rows) == 1:
            return state
        losses, clusters = fleet.losses(clients, state.rows, now), self.clusters_per_start(state)
        tables = np.split(losses.table, len(state.rows) // clusters, axis=1)
        return self.with_choices(state, [replace(losses, table=table) for table in tables])

    def with_choices(self, state: IFCAState, losses: Sequence[Losses]) -> IFCAState:
        """The state after clients chose by these losses, one table for each start; and which start is the best."""
        heard = sorted(set.intersection(*(set(each.clients) for each in losses)))  # by all starts
        if not heard:
            return state
        tables = [each.of(heard) for each in losses]
        picked = zip(*(table.best_row().values() for table in tables), strict=True)
        clusters = {**state.clusters_by_client, **dict(zip(heard, picked, strict=True))}
        lowest = [float(np.average(each.table.min(axis=1), weights=each.examples)) for each in tables]
        return replace(state, clusters_by_client=clusters, best_start=int(np.argmin(lowest)))

    def keep_best_start(self, state: IFCAState) -> IFCAState:
        """The best start alone."""
        best = slice(state.best_start, state.best_start + 1)
        clusters = {client: chosen[best] for client, chosen in state.clusters_by_client.items()}
        return IFCAState(self.assignment(state).rows, clusters)

    def train_start(
        self, old: Rows, clients: Sequence[ClientId], fleet: Fleet, now: Round, *, choose: bool
    ) -> tuple[Rows, Means, Losses]:
        """The models of one start after this round, the means that came back, and what clients chose by."""
        if self.averaging == "gradients":
            plain = SGD(weight_decay=now.local.sgd.weight_decay)
            one_step = replace(now.local, epochs=1, steps=0, steps_from="draws", batch=FULL_BATCH, optimizer=plain)
            now = replace(now, local=one_step)
        if not choose:  # there is one model
            means = fleet.train_mean(Assignment.of_one(old[0], clients), now)
            heard = len(means.heard)
            return means.rows, means, Losses(means.heard, np.zeros((heard, 1)), np.ones(heard, np.int64))
        means, losses = fleet.train_best(clients, old, now)
        share: NDArray[np.float64] = means.examples / max(int(means.examples.sum()), 1)
        new = means.rows.astype(np.float64)
        if self.averaging == "gradients":  # the paper divides each cluster's sum of gradients by all participants
            new = old + share[:, None] * (new - old)
        if share.any():
            cut = self.shared_size(fleet)
            new[:, :cut] = share @ means.rows[:, :cut].astype(np.float64)
        return new.astype(np.float32), means, losses

    def perturb_copies(self, state: IFCAState, fleet: Fleet, now: Round) -> IFCAState:
        """Copies of the one model, each moved at random."""
        noise = now.generator("perturbation").normal(size=(self.restarts * self.clusters, state.rows.shape[1]))
        rows = (state.rows * (1 + self.perturbation * noise)).astype(np.float32)
        return IFCAState(self.share_layers(rows, fleet), dict.fromkeys(state.clusters_by_client, (0,) * self.restarts))

    def share_layers(self, rows: Rows, fleet: Fleet) -> Rows:
        """The rows, with the shared layers of the first row of each start."""
        cut = self.shared_size(fleet)
        return np.concatenate([np.repeat(rows[:: self.clusters, :cut], self.clusters, axis=0), rows[:, cut:]], axis=1)

    def sees(self) -> str:
        """What must not be hidden from the server: see `local.blind`."""
        if self.shared:
            return "layers"
        if self.start_from == "fedavg":
            return "the size of each weight, to perturb it"
        return "several first models" if self.restarts * self.clusters > 1 else ""

    def shared_size(self, fleet: Fleet) -> int:
        """How many first numbers of a row are shared."""
        return sum(fleet.layers()[: self.shared])
