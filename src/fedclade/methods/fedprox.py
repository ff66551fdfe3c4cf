"""FedProx: FedAvg with clients that are held back from drifting away (Li et al., 2020).

A client minimises its own loss plus mu/2 |w - w_t|^2, where w_t is the model that it was sent. With mu = 0 this is
FedAvg.
"""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from fedclade.core import Assignment, ClientId, Round, settings
from fedclade.fleet import Fleet
from fedclade.methods.fedavg import FedAvg, OneModel
from fedclade.methods.mixing import Absent
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First
from fedclade.methods.proximal import check_pull


@settings
class FedProx:
    """FedAvg with a pull back to the common model while a client trains."""

    mu: Annotated[float, Field(ge=0)] = 0.01
    """How hard clients are pulled back; under 2 / local.lr."""
    absent: Absent = "participants"
    """As in FedAvg."""

    def needs(self) -> Needs:
        return Needs(check=lambda _, local: check_pull(self.mu, local, "method.mu"))

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[OneModel, Facts]:
        return FedAvg(absent=self.absent).start(fleet, first, now)

    def round(self, state: OneModel, fleet: Fleet, now: Round) -> tuple[OneModel, Facts]:
        return FedAvg(absent=self.absent).round(state, fleet, replace(now, proximal=self.mu))

    def assignment(self, state: OneModel) -> Assignment:
        return FedAvg().assignment(state)

    def place(
        self, state: OneModel, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[OneModel, Facts]:
        return FedAvg().place(state, newcomers, fleet, now)
