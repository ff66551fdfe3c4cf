"""What a method is: frozen settings, and four functions.

Everything that a method remembers is its state: a frozen dataclass of plain data (arrays, ids, numbers, and tuples,
dicts and dataclasses of them). Saving the state is saving the run. A whole method:

    @dataclass(frozen=True)
    class Mine:
        model: Row
        clients: tuple[ClientId, ...]

    @settings
    class Median:
        \"\"\"The middle value of every parameter.\"\"\"

        def start(self, fleet, first, now) -> Mine:
            return Mine(first(0), fleet.clients())

        def round(self, state, fleet, now):
            chosen = now.sample(fleet.clients())
            updates = fleet.train(Assignment.of_one(state.model, chosen), now)
            if not updates.clients:
                return state, {}
            return replace(state, model=np.median(updates.rows, axis=0)), {"heard": len(updates.clients)}

        def assignment(self, state):
            return Assignment.of_one(state.model, state.clients)

        def place(self, state, newcomers, fleet, now):
            return replace(state, clients=state.clients + newcomers)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from fedclade.fleet.protocol import Fleet
from fedclade.nouns import Assignment, ClientId, LocalTraining, Round, Row
from fedclade.relate.distances import Matrix

State = TypeVar("State")

Fact = None | bool | int | float | str | list["Fact"] | dict[str, "Fact"]
Facts = Mapping[str, Fact | tuple[Matrix, ...]]
"""What a method has to tell about a round: it goes into the run's events as JSON.

Similarities do not go there: the run, which may know the planted groups, puts a separation gap in the place of each
matrix.
"""

First = Callable[[int], Row]
"""Initial model number 0, 1, ...: different ones, always the same for one seed."""


class Method(Protocol[State]):
    """An algorithm of federated learning. Its `start` is annotated with the class of its state."""

    def start(self, fleet: Fleet, first: First, now: Round) -> State:
        """What is known before the first round; a one-shot clustering happens here."""
        ...

    def round(self, state: State, fleet: Fleet, now: Round) -> tuple[State, Facts]:
        """One round: who takes part, what they do, what becomes of the models."""
        ...

    def assignment(self, state: State) -> Assignment:
        """The model of every client as of now."""
        ...

    def place(self, state: State, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> State:
        """The state with these clients in it as well."""
        ...


@runtime_checkable
class Sharing(Protocol):
    """A method whose clients use models of their own, and learn others together."""

    def learnt_together(self, state: Any) -> Assignment:
        """What they learn together, of every client: what drifts are compared from."""
        ...


@runtime_checkable
class Careful(Protocol):
    """A method whose settings do not go with every net, or with every local training."""

    def check_settings(self, layers: Sequence[int], local: LocalTraining) -> None:
        """An error, before there is a run, if they do not go with a net of such layers and this training."""
        ...


@runtime_checkable
class Judging(Protocol):
    """A method whose clients may keep examples aside, and judge models by them."""

    @property
    def validation(self) -> float:
        """The share of its training examples that a client does not train on."""
        ...


AnyMethod: TypeAlias = Method[Any]
"""A method with its own state, whatever that is: who holds it hands the state back to it and never looks inside."""
