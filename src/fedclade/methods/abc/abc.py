"""ABC: clients are chosen so that every round sees all kinds of data (Assadi, Ahn, Esmailzadeh: attention on updates).

In a check-in all clients train and send their models; from the drifts each client gets a score. Then, round by round,
the participants are chosen so that their scores are as different as possible and their mean is that of all. The new
model is the mean of theirs (Algorithm 1). The listing does not say who receives it; both readings are here:

all      every client has the new model, as in FedAvg, and only the participants of a round train
picked   only the clients that were picked have it; the others go on with their own, and all train in every round

The paper's score is the attention of a trained network. Groups of drifts that point the same way work better, and are
the default. See docs/explanation.md for how well each does.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fedclade.core import Assignment, ClientId, Round, settings
from fedclade.fleet import Fleet, Updates
from fedclade.methods.abc.selection import CheckIn, SelectionKind, SelectionState, needs_of_score, participants, scorer
from fedclade.methods.fedavg import FedAvg, OneModel
from fedclade.methods.mixing import weighted_mean
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Fact, Facts, First


@dataclass(frozen=True, eq=False)
class ABCState:
    """The central model, and what is known about clients."""

    common: OneModel
    selection: SelectionState
    own: Assignment | None = None
    """The model of each client, where only the picked receive the new one."""


@settings
class ABC:
    """FedAvg with participants that are chosen by their updates."""

    score: SelectionKind = "groups"
    """How a check-in compares drifts: by groups of similar directions, the first principal component, the cosine to the
    mean, or the attention of a network, the paper's or ours. `random` and `balanced` (the least used) compare nothing.
    """
    check_in: CheckIn = 50
    """Rounds between check-ins, in which all clients are asked; the first round is one.

    Or "change": after the first, one when clients have joined, or when the training loss has jumped by more than is
    usual from round to round; at least 5 rounds after the last.
    """
    receivers: Literal["all", "picked"] = "all"
    """Who has the new model: all clients, or only those that were picked; then all train their own in every round.

    Then drifts are those of a client's own model from the central one, over all rounds since it was picked.
    """
    network: str = ""
    """By attention: the file of a network, see `fedclade attention train`; empty: the shipped one.

    That of `attention` fits the net `mlp` on `digits` alone; that of `attention+` fits every net.
    """

    def needs(self) -> Needs:
        return replace(needs_of_score(self.score, self.network), selects=True)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[ABCState, Facts]:
        common, facts = FedAvg().start(fleet, first, now)
        own = Assignment.of_one(common.model, fleet.clients()) if self.receivers == "picked" else None
        return ABCState(common, SelectionState().with_clients(fleet.clients()), own), facts

    def round(self, state: ABCState, fleet: Fleet, now: Round) -> tuple[ABCState, Facts]:
        present = Assignment.of_one(state.common.model, fleet.clients())
        selection = state.selection.with_clients(present.clients)
        due = selection.is_check_in_due(self.check_in, now) and self.score not in ("random", "balanced")
        if not due and state.own is None:
            chosen = participants(self.score, selection, present, now)
            means = fleet.train_mean(present.restrict(chosen), now)
            facts: Facts = {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss, "chosen": list(chosen)}
            selection = selection.after_participation(chosen).after_loss(means.loss)
            return ABCState(replace(state.common, model=means.rows[0]), selection), facts
        starts = present if state.own is None else state.own.restrict(present.clients)
        updates = fleet.train(starts, now)
        return self.average_picked(replace(state, selection=selection), present, updates, due, fleet, now)

    def average_picked(
        self, state: ABCState, present: Assignment, updates: Updates, due: bool, fleet: Fleet, now: Round
    ) -> tuple[ABCState, Facts]:
        """Lines 8 to 12, where all clients have trained: score them if a check-in is due, pick, average the picked."""
        facts: dict[str, Fact] = {"asked": len(present.clients), "heard": len(updates.clients), "loss": updates.loss}
        if not updates.clients:
            return state, facts
        selection = state.selection.after_loss(updates.loss)
        if due and self.score != "random" and self.score != "balanced":
            selection = selection.after_check_in(scorer(self.score, self.network, fleet), present, updates, now)
            facts |= selection.facts()
        chosen = participants(self.score, selection, present.restrict(updates.clients), now, len(present.clients))
        picked = [updates.clients.index(client) for client in chosen]
        model = weighted_mean(updates.rows[picked], updates.examples[picked].tolist()).astype(np.float32)
        own = state.own
        if own is not None:
            trained = updates.rows.copy()
            trained[picked] = model
            own = own.with_own_rows(updates.clients, trained)
        facts["chosen"] = list(chosen)
        return ABCState(replace(state.common, model=model), selection.after_participation(chosen), own), facts

    def assignment(self, state: ABCState) -> Assignment:
        return FedAvg().assignment(state.common)

    def place(
        self, state: ABCState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[ABCState, Facts]:
        common, facts = FedAvg().place(state.common, newcomers, fleet, now)
        own = state.own
        if own is not None:
            row = np.repeat(common.model[None], len(newcomers), axis=0)
            own = own.with_clients(dict.fromkeys(newcomers, 0)).with_own_rows(newcomers, row)
        return replace(state, common=common, own=own), facts
