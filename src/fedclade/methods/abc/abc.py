"""ABC: clients are chosen so that every round sees all kinds of data (Assadi, Ahn, Esmailzadeh: attention on updates).

In a check-in every client trains the common model and sends it; from the drifts each client gets a score. Then, round
by round, the participants are chosen so that their scores are as different as possible and their mean is that of all
(Algorithm 1). The new model is the mean of theirs, and all clients have it, which the listing does not say. A check-in
is also a round: its model is the mean of all that were sent, where the listing drops those of clients it did not pick.

The paper's score is the attention of a trained network. Groups of drifts that point the same way work better, and are
the default. See docs/explanation.md for how well each does.
"""

from dataclasses import dataclass, replace

import numpy as np

from fedclade.core import Assignment, ClientId, Round, settings
from fedclade.fleet import Fleet
from fedclade.methods.abc.selection import CheckIn, ScoreKind, SelectionState, needs_of_score, participants, scorer
from fedclade.methods.fedavg import FedAvg, OneModel
from fedclade.methods.mixing import weighted_mean
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First


@dataclass(frozen=True, eq=False)
class ABCState:
    """One model, and what is known about clients."""

    common: OneModel
    selection: SelectionState


@settings
class ABC:
    """FedAvg with participants that are chosen by their updates."""

    score: ScoreKind = "groups"
    """What a check-in asks drifts for."""
    check_in: CheckIn = 50
    """Rounds between check-ins, in which all clients are asked; the first round is one."""
    network: str = ""
    """By attention: the file of a network, see `fedclade attention train`; empty: the shipped one, if there is one."""

    def needs(self) -> Needs:
        return replace(needs_of_score(self.score, self.network), selects=True)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[ABCState, Facts]:
        common, facts = FedAvg().start(fleet, first, now)
        return ABCState(common, SelectionState().with_clients(fleet.clients())), facts

    def round(self, state: ABCState, fleet: Fleet, now: Round) -> tuple[ABCState, Facts]:
        models = Assignment.of_one(state.common.model, fleet.clients())
        selection = state.selection.with_clients(models.clients)
        if selection.is_check_in_due(self.check_in, now):
            return self.check_in_round(replace(state, selection=selection), models, fleet, now)
        chosen = participants(self.score, selection, models, now)
        means = fleet.train_mean(models.restrict(chosen), now)
        facts: Facts = {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss, "chosen": list(chosen)}
        return ABCState(replace(state.common, model=means.rows[0]), selection.after_participation(chosen)), facts

    def check_in_round(self, state: ABCState, models: Assignment, fleet: Fleet, now: Round) -> tuple[ABCState, Facts]:
        """Score the drifts of all clients, and take the mean of all their models."""
        updates = fleet.train(models, now)
        facts: dict[str, Fact] = {"asked": len(models.clients), "heard": len(updates.clients), "loss": updates.loss}
        if not updates.clients:
            return state, facts
        score = scorer(self.score, self.network, fleet)
        selection = state.selection.after_check_in(score, models, updates, now)
        selection = selection.after_participation(updates.clients)
        model = weighted_mean(updates.rows, updates.examples.tolist()).astype(np.float32)
        facts |= {"chosen": list(updates.clients), **selection.facts()}
        return ABCState(replace(state.common, model=model), selection), facts

    def assignment(self, state: ABCState) -> Assignment:
        return FedAvg().assignment(state.common)

    def place(
        self, state: ABCState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[ABCState, Facts]:
        common, facts = FedAvg().place(state.common, newcomers, fleet, now)
        return replace(state, common=common), facts
