"""Ditto: a common model, and beside it one of each client's own that is held near to it (Li, Hu, Beirami, Smith, 2021).

A participant does two things: it takes part in FedAvg, and it trains its own model v on its loss plus
lam/2 |v - w|^2, where w is the common model that it was sent. With lam = 0 each client is alone; the larger lam is, the
nearer own models stay to the model of FedAvg. A lam of 2 / lr and more drives them away instead, and is refused.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import Assignment, ClientId, Round, Row, settings
from fedclade.fleet import Fleet
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First
from fedclade.methods.proximal import check_pull


@dataclass(frozen=True, eq=False)
class DittoState:
    """The common model, and the own model of each client."""

    common: Row
    own: Assignment


@settings
class Ditto:
    """Everybody's own model, pulled to one that all learn together."""

    lam: Annotated[float, Field(ge=0)] = 0.1
    """The paper's lambda: how hard own models are pulled to the common one; under 2 / local.lr."""

    def needs(self) -> Needs:
        return Needs(check=lambda _, local: check_pull(self.lam, local, "method.lam"), common_models=common_models)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[DittoState, Facts]:
        return DittoState(first(0), Assignment.of_one(first(0), fleet.clients())), {}

    def round(self, state: DittoState, fleet: Fleet, now: Round) -> tuple[DittoState, Facts]:
        chosen = now.sample(fleet.clients())
        means = fleet.train_mean(Assignment.of_one(state.common, chosen), now)
        own = fleet.train(state.own.restrict(chosen), replace(now, proximal=self.lam), towards=state.common)
        after = DittoState(means.rows[0], state.own.with_own_rows(own.clients, own.rows))
        return after, {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss}

    def assignment(self, state: DittoState) -> Assignment:
        return state.own

    def place(
        self, state: DittoState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[DittoState, Facts]:
        rows = np.repeat(state.common[None, :], len(newcomers), axis=0)
        return replace(state, own=state.own.with_own_rows(newcomers, rows)), {}


def common_models(state: DittoState) -> Assignment:
    """The common model, of every client."""
    return Assignment.of_one(state.common, state.own.clients)
