"""FedAvg: one model for all, the mean of what the participants learned (McMahan et al., 2017).

In every round some clients train the common model on their own data. The new common model is the mean of their models,
weighted by their numbers of examples. Nothing of a single client reaches the server but its part of the mean.
"""

from dataclasses import dataclass, replace

from fedclade.core import Assignment, ClientId, Round, Row, settings
from fedclade.fleet import Fleet
from fedclade.methods.mixing import Absent, mix_rows
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First


@dataclass(frozen=True, eq=False)
class OneModel:
    """One model, and the clients that have it."""

    model: Row
    clients: tuple[ClientId, ...]


@settings
class FedAvg:
    """One model for all clients: the mean of the participants' models."""

    absent: Absent = "participants"
    """Whose models are averaged: those of the participants, or `stale`: also the old one of each absent client."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[OneModel, Facts]:
        return OneModel(first(0), fleet.clients()), {}

    def round(self, state: OneModel, fleet: Fleet, now: Round) -> tuple[OneModel, Facts]:
        chosen = now.sample(fleet.clients())
        means = fleet.train_mean(Assignment.of_one(state.model, chosen), now)
        rows = mix_rows(means, self.absent, lambda: Assignment.of_one(state.model, fleet.clients()), fleet)
        return replace(state, model=rows[0]), {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss}

    def assignment(self, state: OneModel) -> Assignment:
        return Assignment.of_one(state.model, state.clients)

    def place(
        self, state: OneModel, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[OneModel, Facts]:
        return replace(state, clients=tuple(sorted(state.clients + newcomers))), {}
