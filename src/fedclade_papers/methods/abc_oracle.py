"""ABC that is told the planted clusters: what picking by clusters gains at best, whatever finds them.

No truth reaches a method, and none does here: the world `dominant` plants its clusters by the run's seed, and this
method draws them again. It is of use in that world only, as a bound beside ABC's scores.
"""

from dataclasses import replace

from fedclade.core import Assignment, ClientId, Round, settings
from fedclade.fleet import Fleet
from fedclade.methods import ABC, Facts, First, Needs, SelectionState
from fedclade.methods.abc.abc import ABCState
from fedclade_papers.worlds.dominant import Mix, planted_members

# Groups are known from the start: there is no check-in.
PICKED = ABC(score="groups", receivers="picked", check_in=10**9)


@settings
class ABCOracle:
    """ABC with the planted clusters of the world `dominant` in the place of scores; only the picked have the model."""

    mix: Mix = "2C-1"
    """That of the data."""

    def needs(self) -> Needs:
        return PICKED.needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[ABCState, Facts]:
        state, facts = PICKED.start(fleet, first, now)
        clients = fleet.clients()
        members = planted_members(self.mix, len(clients), now.seed)
        group = {client: number for number, some in enumerate(members) for client in some}
        known = SelectionState(group_by_client=group, last_check_in=now.number or 1).with_clients(clients)
        return replace(state, selection=known), facts

    def round(self, state: ABCState, fleet: Fleet, now: Round) -> tuple[ABCState, Facts]:
        return PICKED.round(state, fleet, now)

    def assignment(self, state: ABCState) -> Assignment:
        return PICKED.assignment(state)

    def place(
        self, state: ABCState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[ABCState, Facts]:
        return PICKED.place(state, newcomers, fleet, now)
