"""FedAvg and fine-tuning: one model for all, which each client trains further for itself before it is used.

What an engineer tries first. The common model is that of FedAvg, untouched by fine-tuning. Whenever models are
evaluated, every client trains the common one for a few epochs on its own data, with the step size that was asked for
and not the schedule's; the next round forgets the result.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from fedclade.core import Assignment, ClientId, Round, settings
from fedclade.fleet import Fleet
from fedclade.methods.fedavg import FedAvg, OneModel
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First


@dataclass(frozen=True, eq=False)
class FineTunedState:
    """The state of FedAvg, and the own models of clients if they have just been made."""

    common: OneModel
    own: Assignment | None = None


@settings
class FineTuned:
    """FedAvg, then each client trains the common model on for itself."""

    epochs: Annotated[int, Field(ge=1, le=10**6)] = 1
    """Passes over the client's own data."""

    def needs(self) -> Needs:
        return Needs(common_models=lambda state: FedAvg().assignment(state.common))

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[FineTunedState, Facts]:
        common, facts = FedAvg().start(fleet, first, now)
        return FineTunedState(common), facts

    def round(self, state: FineTunedState, fleet: Fleet, now: Round) -> tuple[FineTunedState, Facts]:
        common, facts = FedAvg().round(state.common, fleet, now)
        if not now.evaluated:
            return FineTunedState(common), facts
        lr = now.local.lr / now.lr_scale
        longer = replace(now, local=replace(now.local, lr=lr, epochs=self.epochs, steps=0, steps_from="draws"))
        updates = fleet.train(Assignment.of_one(common.model, fleet.clients()), longer)
        own = Assignment.of_one(common.model, common.clients).with_own_rows(updates.clients, updates.rows)
        return FineTunedState(common, own), {**facts, "tuned": len(updates.clients)}

    def assignment(self, state: FineTunedState) -> Assignment:
        return FedAvg().assignment(state.common) if state.own is None else state.own

    def place(
        self, state: FineTunedState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[FineTunedState, Facts]:
        common, facts = FedAvg().place(state.common, newcomers, fleet, now)
        return FineTunedState(common), facts
