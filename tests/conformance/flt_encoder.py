"""FLT with the paper's signature, as a method of its own: what holds for every method holds for it."""

from fedclade.fleet import Fleet
from fedclade.methods import FLT, Facts, First, Needs
from fedclade.methods.taskonomy import Taskonomy
from fedclade.nouns import Assignment, ClientId, Round, settings

METHOD = FLT(signature="encoder", points=3)


@settings
class FLTEncoder:
    """FLT with points instead of class moments."""

    def needs(self) -> Needs:
        return METHOD.needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Taskonomy, Facts]:
        return METHOD.start(fleet, first, now)

    def round(self, state: Taskonomy, fleet: Fleet, now: Round) -> tuple[Taskonomy, Facts]:
        return METHOD.round(state, fleet, now)

    def assignment(self, state: Taskonomy) -> Assignment:
        return METHOD.assignment(state)

    def place(
        self, state: Taskonomy, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[Taskonomy, Facts]:
        return METHOD.place(state, newcomers, fleet, now)
