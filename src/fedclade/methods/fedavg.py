"""FedAvg: one model for all, the mean of what the participants learned (McMahan et al., 2017).

In every round some clients train the common model on their own data; the new one is the mean of theirs, weighted by
their numbers of examples. Nothing of a single client reaches the server but its part of the mean.
"""

from dataclasses import dataclass, replace

from fedclade.fleet import Fleet
from fedclade.methods.mixing import Absent, mixed
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First
from fedclade.nouns import Assignment, ClientId, Round, Row, settings


@dataclass(frozen=True, eq=False)
class OneModel:
    """One model, and who has it."""

    model: Row
    clients: tuple[ClientId, ...]


@settings
class FedAvg:
    """One model for all clients: the mean of the participants' models."""

    absent: Absent = "participants"
    """Whose models a mean is of: only the participants', or `stale`: also the old ones of those who were not asked."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[OneModel, Facts]:
        return OneModel(first(0), fleet.clients()), {}

    def round(self, state: OneModel, fleet: Fleet, now: Round) -> tuple[OneModel, Facts]:
        chosen = now.sample(fleet.clients())
        means = fleet.train_mean(Assignment.of_one(state.model, chosen), now)
        rows = means.rows
        if self.absent != "participants":  # everybody counts, and must be gone through
            models = Assignment.of_one(state.model, fleet.clients())  # who has left weighs nothing
            rows = mixed(models, means, fleet.examples(models.clients), self.absent)
        return replace(state, model=rows[0]), {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss}

    def assignment(self, state: OneModel) -> Assignment:
        return Assignment.of_one(state.model, state.clients)

    def place(
        self, state: OneModel, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[OneModel, Facts]:
        return replace(state, clients=tuple(sorted(state.clients + newcomers))), {}
