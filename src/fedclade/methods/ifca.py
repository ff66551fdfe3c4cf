"""IFCA: every client joins the cluster whose model fits its data best (Ghosh, Chung, Yin, Ramchandran, 2020).

There are K models. In a round each participant is sent all of them, takes the one with the lowest loss on its training
data and trains it; a model's new value is the mean of those who took it. Which groups are found depends on the K first
models, so several starts can be tried for some rounds; the one with the lowest training loss goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.fleet import Fleet, Means
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First
from fedclade.nouns import Assignment, ClientId, InputError, LocalTraining, Round, Rows, settings

WHOLE = 10**9  # a batch of all examples


@dataclass(frozen=True, eq=False)
class Centres:
    """The clusters' models, of one start after the other, and who chose which."""

    rows: Rows
    """(starts x clusters, parameters)"""
    home: dict[ClientId, tuple[int, ...]]
    """The cluster of each client, for each start."""
    best: int = 0
    """The start with the lowest training loss so far."""


@settings
class IFCA:
    """Every client joins the cluster whose model has the lowest loss on its data."""

    clusters: Annotated[int, Field(ge=1, le=1000)] = 2
    """K: how many models there are. A cluster that nobody chooses keeps its model."""
    start_from: Literal["random", "fedavg"] = "random"
    """Different random models, or one trained by FedAvg for `warmup` rounds and then perturbed."""
    warmup: Annotated[int, Field(ge=1)] = 5
    """Rounds of FedAvg, if it starts from that."""
    perturbation: Annotated[float, Field(gt=0)] = 0.1
    """How far each weight is then moved, as a share of its size: a standard deviation."""
    averaging: Literal["models", "gradients"] = "models"
    """The mean of trained models, or one step along the mean of the participants' full gradients."""
    shared: Annotated[int, Field(ge=0)] = 0
    """So many first layers have the same weights in all clusters, learned from everybody; never all layers."""
    restarts: Annotated[int, Field(ge=1, le=100)] = 3
    """Starts that are tried side by side. Each costs as much as a run of its own while it lasts."""
    trial: Annotated[int, Field(ge=1)] = 5
    """Rounds after which the start with the lowest training loss goes on alone."""
    all_choose: bool = True
    """Everybody chooses before models are evaluated, by training loss; otherwise only who takes part in a round."""

    def needs(self) -> Needs:
        return Needs(sees=self.sees(), check=self.check_layers)

    def check_layers(self, layers: Sequence[int], _: LocalTraining) -> None:
        """An error if the net has no layers but shared ones."""
        if self.shared >= len(layers):
            need = f"at most {len(layers) - 1}: this net has {len(layers)} layers"
            raise InputError("clusters share everything", where="method.shared", got=str(self.shared), need=need)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Centres, Facts]:
        if self.start_from == "fedavg":
            return Centres(first(0)[None], dict.fromkeys(fleet.clients(), (0,))), {}
        rows = np.stack([first(number) for number in range(self.restarts * self.clusters)])
        return Centres(self.alike(rows, fleet), dict.fromkeys(fleet.clients(), (0,) * self.restarts)), {}

    def round(self, state: Centres, fleet: Fleet, now: Round) -> tuple[Centres, Facts]:
        chosen = now.sample(fleet.clients())
        state, heard = self.chosen(state, chosen, fleet, now)
        trial = self.trial + (self.warmup if self.start_from == "fedavg" else 0)
        if now.number > trial and heard:
            state = self.settled(state)
        parts = np.split(state.rows, len(state.rows) // self.width(state))
        trained = [
            self.trained(rows, {client: state.home[client][start] for client in heard}, fleet, now)
            for start, rows in enumerate(parts)
        ]
        after = replace(state, rows=np.concatenate([rows for rows, _ in trained]))
        sizes = np.bincount([state.home[client][state.best] for client in heard], minlength=self.width(state))
        means = trained[state.best][1]
        facts: dict[str, Fact] = {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss}
        facts |= {"sizes": sizes.tolist(), "starts": len(parts), "best_start": state.best}
        if self.start_from == "fedavg" and now.number == self.warmup:
            after = self.perturbed(after, fleet, now)
        if now.judged and self.all_choose:
            after, _ = self.chosen(after, fleet.clients(), fleet, now)
        return after, facts

    def assignment(self, state: Centres) -> Assignment:
        first = state.best * self.width(state)
        rows = state.rows[first : first + self.width(state)]
        return Assignment(rows, {client: homes[state.best] for client, homes in state.home.items()})

    def place(self, state: Centres, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> tuple[Centres, Facts]:
        starts = len(state.rows) // self.width(state)
        joined = replace(state, home={**state.home, **dict.fromkeys(newcomers, (0,) * starts)})
        return self.chosen(joined, newcomers, fleet, now, judge=False)[0], {}

    def width(self, state: Centres) -> int:
        """Clusters of one start: one, while it is FedAvg."""
        return min(self.clusters, len(state.rows))

    def chosen(
        self, state: Centres, clients: Sequence[ClientId], fleet: Fleet, now: Round, *, judge: bool = True
    ) -> tuple[Centres, Sequence[ClientId]]:
        """Each of these clients in the cluster with the lowest loss, for each start; and which start is best by it.

        And who was heard. Where there is one model there is nothing to choose, and nobody is asked.
        """
        if len(state.rows) == 1:
            return state, clients
        losses = fleet.losses(clients, state.rows, now)
        if not losses.clients:
            return state, ()
        table = losses.table.reshape(len(losses.clients), -1, self.width(state))  # (clients, starts, clusters)
        picked = table.argmin(axis=2)
        home = {client: tuple(row.tolist()) for client, row in zip(losses.clients, picked, strict=True)}
        reached = np.average(table.min(axis=2), axis=0, weights=losses.examples)  # of each start
        best = int(reached.argmin()) if judge else state.best
        return replace(state, home={**state.home, **home}, best=best), losses.clients

    def settled(self, state: Centres) -> Centres:
        """The best start alone."""
        rows = self.assignment(state).rows
        return Centres(rows, {client: (homes[state.best],) for client, homes in state.home.items()})

    def trained(self, old: Rows, home: dict[ClientId, int], fleet: Fleet, now: Round) -> tuple[Rows, Means]:
        """One start's models after this round, and what came back."""
        if self.averaging == "gradients":
            now = replace(now, local=replace(now.local, epochs=1, steps=0, batch=WHOLE, momentum=0.0))
        means = fleet.train_mean(Assignment(old, home), now)
        share: NDArray[np.float64] = means.examples / max(int(means.examples.sum()), 1)
        new = means.rows.astype(np.float64)
        if self.averaging == "gradients":  # the paper divides each cluster's sum of gradients by all participants
            new = old + share[:, None] * (new - old)
        if share.any():
            cut = self.cut(fleet)
            new[:, :cut] = share @ means.rows[:, :cut].astype(np.float64)
        return new.astype(np.float32), means

    def perturbed(self, state: Centres, fleet: Fleet, now: Round) -> Centres:
        """Copies of the one model, each moved by chance."""
        noise = now.generator("perturbation").normal(size=(self.restarts * self.clusters, state.rows.shape[1]))
        rows = (state.rows * (1 + self.perturbation * noise)).astype(np.float32)
        return Centres(self.alike(rows, fleet), dict.fromkeys(state.home, (0,) * self.restarts))

    def alike(self, rows: Rows, fleet: Fleet) -> Rows:
        """The rows with the shared layers of each start's first one."""
        cut = self.cut(fleet)
        return np.concatenate([np.repeat(rows[:: self.clusters, :cut], self.clusters, axis=0), rows[:, cut:]], axis=1)

    def sees(self) -> str:
        """What must not be hidden from the server: see `local.blind`."""
        if self.shared:
            return "layers"
        if self.start_from == "fedavg":
            return "the size of each weight, to perturb it"
        return "several first models" if self.restarts * self.clusters > 1 else ""

    def cut(self, fleet: Fleet) -> int:
        """How many first numbers of a row are shared."""
        return sum(fleet.layers()[: self.shared])
