"""How requests travel to clients and replies back: the one thing that a new engine must bring."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fedclade.core import ClientId
from fedclade.wire.message import AnyRequest, Arrival, Refusal


class Enrolment(NamedTuple):
    """What a client said of itself when it joined."""

    train: int
    """Training examples."""
    test: int
    """Test examples."""


class Transport(Protocol):
    """The way to some clients and back."""

    def begin(self, number: int) -> Sequence[Refusal]:
        """Begin a round: clients come and go. Returns the enrolments that were refused."""
        ...

    def enrolments(self) -> Mapping[ClientId, Enrolment]:
        """The clients that can be asked in this round, in sorted order."""
        ...

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        """Send requests of one verb; yield what arrives, in any order."""
        ...

    @property
    def cpu_seconds(self) -> float:
        """Processor time of clients so far, as far as this machine knows."""
        ...

    def close(self) -> None: ...
