"""The trimmed mean (Yin et al., 2018): one model, of which no few clients can decide a parameter.

The participants train the common model. Of each parameter the lowest and the highest values are left out; the new one
is the mean of the others.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import Assignment, ClientId, Round, Row, settings
from fedclade.fleet import Fleet
from fedclade.methods import Facts, First, Needs


@dataclass(frozen=True, eq=False)
class OneModel:
    """One model, and who has it."""

    model: Row
    clients: tuple[ClientId, ...]


@settings
class TrimmedMean:
    """One model for all clients: the mean of every parameter without its lowest and highest values."""

    trim: Annotated[float, Field(ge=0, lt=0.5)] = 0.2
    """The share of the participants that is left out at each end."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[OneModel, Facts]:
        return OneModel(first(0), fleet.clients()), {}

    def round(self, state: OneModel, fleet: Fleet, now: Round) -> tuple[OneModel, Facts]:
        updates = fleet.train(Assignment.of_one(state.model, now.sample(fleet.clients())), now)
        heard = len(updates.clients)
        if heard == 0:
            return state, {"heard": 0}
        cut = int(self.trim * heard)
        kept = np.sort(updates.rows, axis=0)[cut : heard - cut]
        return replace(state, model=kept.mean(axis=0)), {"heard": heard, "cut": cut}

    def assignment(self, state: OneModel) -> Assignment:
        return Assignment.of_one(state.model, state.clients)

    def place(
        self, state: OneModel, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[OneModel, Facts]:
        return replace(state, clients=tuple(sorted(state.clients + newcomers))), {}
