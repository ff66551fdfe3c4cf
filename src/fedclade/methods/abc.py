"""ABC: clients are chosen so that every round sees all kinds of data (Assadi, Ahn, Esmailzadeh: attention on updates).

In a check-in every client trains the common model and sends it; from the drifts each client gets a score. Then, round
by round, the participants are chosen so that their scores are as different as can be and their mean is that of all
(Algorithm 1); the new model is the mean of theirs, and everybody has it, which the listing forgets to say. A check-in
is also a round: its model is the mean of all that were sent, where the listing throws away those that it did not pick.

The paper's score is the attention of a trained network. What works better, and is the default: groups of drifts that
point the same way. See docs/explanation.md for how well each does.
"""

from dataclasses import dataclass, replace

import numpy as np

from fedclade.fleet import Fleet
from fedclade.methods.fedavg import FedAvg, OneModel
from fedclade.methods.mixing import weighted_mean
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First
from fedclade.methods.selection import CheckIn, Score, Standing, look, needs_of_score, participants
from fedclade.nouns import Assignment, ClientId, Round, settings


@dataclass(frozen=True, eq=False)
class Attended:
    """One model, and what is known of clients."""

    common: OneModel
    standing: Standing


@settings
class ABC:
    """FedAvg whose participants are chosen by what their updates tell."""

    score: Score = "groups"
    """What a check-in asks drifts for."""
    check_in: CheckIn = 50
    """Rounds between check-ins, in which everybody is asked; the first round is one."""
    network: str = ""
    """By attention: the file of a network, see `fedclade attention train`; empty: the shipped one, if there is one."""

    def needs(self) -> Needs:
        return replace(needs_of_score(self.score, self.network), selects=True)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Attended, Facts]:
        common, facts = FedAvg().start(fleet, first, now)
        return Attended(common, Standing().with_clients(fleet.clients())), facts

    def round(self, state: Attended, fleet: Fleet, now: Round) -> tuple[Attended, Facts]:
        everybody = Assignment.of_one(state.common.model, fleet.clients())
        standing = state.standing.with_clients(everybody.clients)
        if standing.due(self.check_in, now):
            return self.checked_in(replace(state, standing=standing), everybody, fleet, now)
        wanted, chance = now.wanted(len(everybody.home)), now.generator("selection")
        chosen = participants(self.score, standing, everybody.home, wanted, chance)
        means = fleet.train_mean(everybody.only(chosen), now)
        facts: Facts = {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss, "chosen": list(chosen)}
        return Attended(replace(state.common, model=means.rows[0]), standing.after(chosen)), facts

    def checked_in(self, state: Attended, everybody: Assignment, fleet: Fleet, now: Round) -> tuple[Attended, Facts]:
        """Scores from everybody's drifts, and the mean of everybody's models."""
        updates = fleet.train(everybody, now)
        facts: dict[str, Fact] = {"asked": len(everybody.home), "heard": len(updates.clients), "loss": updates.loss}
        if not updates.clients:
            return state, facts
        standing = state.standing.heard(look(self.score, self.network, fleet), everybody, updates, now)
        standing = standing.after(updates.clients)
        model = weighted_mean(updates.rows, updates.examples.tolist()).astype(np.float32)
        facts |= {"chosen": list(updates.clients), **standing.told()}
        return Attended(replace(state.common, model=model), standing), facts

    def assignment(self, state: Attended) -> Assignment:
        return FedAvg().assignment(state.common)

    def place(
        self, state: Attended, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[Attended, Facts]:
        common, facts = FedAvg().place(state.common, newcomers, fleet, now)
        return replace(state, common=common), facts
