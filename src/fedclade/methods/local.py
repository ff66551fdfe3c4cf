"""Local: every client trains alone and nothing is shared: what clients can do without a federation.

All start from the same initial model. A client that is not asked in a round keeps its model.
"""

from dataclasses import dataclass, replace

import numpy as np

from fedclade.core import Assignment, ClientId, Round, Row, settings
from fedclade.fleet import Fleet
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First


@dataclass(frozen=True, eq=False)
class OwnModels:
    """The model of each client, and the one that newcomers start from."""

    models: Assignment
    first: Row


@settings
class Local:
    """Every client trains alone."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[OwnModels, Facts]:
        return OwnModels(Assignment.of_one(first(0), fleet.clients()), first(0)), {}

    def round(self, state: OwnModels, fleet: Fleet, now: Round) -> tuple[OwnModels, Facts]:
        chosen = now.sample(fleet.clients())
        updates = fleet.train(state.models.restrict(chosen), now)
        models = state.models.with_own_rows(updates.clients, updates.rows)
        facts: Facts = {"asked": len(chosen), "heard": len(updates.clients), "loss": updates.loss}
        return replace(state, models=models), facts

    def assignment(self, state: OwnModels) -> Assignment:
        return state.models

    def place(
        self, state: OwnModels, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[OwnModels, Facts]:
        rows = np.repeat(state.first[None, :], len(newcomers), axis=0)
        return replace(state, models=state.models.with_own_rows(newcomers, rows)), {}
