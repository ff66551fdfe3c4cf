"""FedAvg and fine-tuning: one model for all, and each client trains it on for itself before it is used.

What an engineer tries first. The common model is FedAvg's, untouched by what clients do with it. Whenever models are
evaluated, every client trains the common one for a few epochs on its own data; the next round forgets that again.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from fedclade.fleet import Fleet
from fedclade.methods.fedavg import FedAvg, OneModel
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First
from fedclade.nouns import Assignment, ClientId, Round, settings


@dataclass(frozen=True, eq=False)
class Tuned:
    """FedAvg's state, and everybody's own model if it has just been made."""

    common: OneModel
    own: Assignment | None = None


@settings
class FineTuned:
    """FedAvg, then each client trains the common model on for itself."""

    epochs: Annotated[int, Field(ge=1, le=10**6)] = 1
    """Passes over the client's own data."""

    def needs(self) -> Needs:
        return Needs(common_models=lambda state: FedAvg().assignment(state.common))

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Tuned, Facts]:
        common, facts = FedAvg().start(fleet, first, now)
        return Tuned(common), facts

    def round(self, state: Tuned, fleet: Fleet, now: Round) -> tuple[Tuned, Facts]:
        common, facts = FedAvg().round(state.common, fleet, now)
        if not now.judged:
            return Tuned(common), facts
        longer = replace(now, local=replace(now.local, epochs=self.epochs, steps=0))
        updates = fleet.train(Assignment.of_one(common.model, fleet.clients()), longer)
        own = Assignment.of_one(common.model, common.clients).replaced(updates.clients, updates.rows)
        return Tuned(common, own), {**facts, "tuned": len(updates.clients)}

    def assignment(self, state: Tuned) -> Assignment:
        return FedAvg().assignment(state.common) if state.own is None else state.own

    def place(self, state: Tuned, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> tuple[Tuned, Facts]:
        common, facts = FedAvg().place(state.common, newcomers, fleet, now)
        return Tuned(common), facts
