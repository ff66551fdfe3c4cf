"""What can happen to replies on their way: lost, out of order, or lies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId
from fedclade.fleet import Enrolment, Transport
from fedclade.fleet.simulated import Wire
from fedclade.wire import Arrival, Refusal, Reply
from fedclade.wire.message import AnyRequest
from fedclade.wire.verbs import TRAINING

Lie = Callable[[Reply], Reply]


def drop_replies(*clients: ClientId) -> Wire:
    """A wire on which nothing of these clients arrives."""
    return lambda replies: (reply for reply in replies if reply.client not in clients)


def drop_round(number: int) -> Wire:
    """A wire on which no replies of this round arrive."""
    return lambda replies: (reply for reply in replies if reply.round != number)


def reverse_replies(replies: Iterator[Reply]) -> Iterable[Reply]:
    """A wire that hands the last reply over first."""
    return reversed(list(replies))


def lie(client: ClientId, how: Lie) -> Wire:
    """A wire on which one client's replies are changed."""
    return lambda replies: (how(reply) if reply.client == client else reply for reply in replies)


def change_arrays(reply: Reply, change: Callable[[NDArray[np.generic]], NDArray[np.generic]]) -> Reply:
    return replace(reply, arrays={name: change(array) for name, array in reply.arrays.items()})


LIES: dict[str, Lie] = {
    "not a number": lambda reply: change_arrays(reply, lambda array: np.full(array.shape, np.nan, np.float32)),
    "wrong shape": lambda reply: change_arrays(reply, lambda array: array[None]),
    "too many examples": lambda reply: replace(reply, examples=10**12),
}
"""Replies that the gate must refuse, whatever the verb."""


class AlteredTransport:
    """A transport around another one: replies pass a wire, and some clients join late.

    They join in the round after the first one in which a client trained.
    """

    def __init__(self, inner: Transport, *, wire: Wire | None = None, late: Sequence[ClientId] = ()) -> None:
        self.inner, self.late = inner, frozenset(late)
        self._wire = wire
        self._trained = self._open = False

    def begin(self, number: int) -> Sequence[Refusal]:
        self._open = self._trained
        return self.inner.begin(number)

    def enrolments(self) -> Mapping[ClientId, Enrolment]:
        known = self.inner.enrolments()
        return {client: known[client] for client in known if self._open or client not in self.late}

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        self._trained |= any(request.verb.name in TRAINING for request in requests.values())
        arrivals = self.inner.carry(requests)
        if self._wire is None:
            return arrivals
        arrived = list(arrivals)
        replies = [each for each in arrived if isinstance(each, Reply)]
        return [*self._wire(iter(replies)), *(each for each in arrived if isinstance(each, Refusal))]

    @property
    def cpu_seconds(self) -> float:
        return self.inner.cpu_seconds

    def close(self) -> None:
        self.inner.close()
