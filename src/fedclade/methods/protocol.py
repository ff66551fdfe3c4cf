"""What a method is: frozen settings, four functions, and what it needs.

Everything that a method remembers is its state: a frozen dataclass of plain data (arrays, ids, numbers, and tuples,
dicts and dataclasses of them). Saving the state is saving the run. A whole method:

    @dataclass(frozen=True)
    class MedianState:
        model: Row
        clients: tuple[ClientId, ...]

    @settings
    class Median:
        \"\"\"The middle value of every parameter.\"\"\"

        def needs(self) -> Needs:
            return Needs()

        def start(self, fleet, first, now) -> tuple[MedianState, Facts]:
            return MedianState(first(0), fleet.clients()), {}

        def round(self, state, fleet, now):
            chosen = now.sample(fleet.clients())
            updates = fleet.train(Assignment.of_one(state.model, chosen), now)
            if not updates.clients:
                return state, {}
            return replace(state, model=np.median(updates.rows, axis=0)), {"heard": len(updates.clients)}

        def assignment(self, state):
            return Assignment.of_one(state.model, state.clients)

        def place(self, state, newcomers, fleet, now):
            return replace(state, clients=state.clients + newcomers), {}
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from fedclade.core import Assignment, ClientId, Round, Row
from fedclade.core.facts import Fact, Facts
from fedclade.fleet import Fleet
from fedclade.methods.needs import Needs

State = TypeVar("State")

First = Callable[[int], Row]
"""Initial model number 0, 1, ...: different ones, always the same for one seed."""


class Method(Protocol[State]):
    """An algorithm of federated learning. Its `start` is annotated with the class of its state."""

    def needs(self) -> Needs:
        """What it needs of its surroundings."""
        ...

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[State, Facts]:
        """What is known before the first round; a one-shot clustering happens here."""
        ...

    def round(self, state: State, fleet: Fleet, now: Round) -> tuple[State, Facts]:
        """One round: which clients take part, what they do, what becomes of the models."""
        ...

    def assignment(self, state: State) -> Assignment:
        """The model of every client as of now."""
        ...

    def place(self, state: State, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> tuple[State, Facts]:
        """The state with these clients in it as well."""
        ...


__all__ = ["AnyMethod", "Fact", "Facts", "First", "Method", "State"]
AnyMethod: TypeAlias = Method[Any]
"""A method with any state: code that holds it hands the state back to it and never looks inside."""
