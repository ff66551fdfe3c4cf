"""What can happen to replies on their way: lost, out of order, or lies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fedclade.fleet import Enrolment, Transport
from fedclade.fleet.simulated import Wire
from fedclade.nouns import ClientId
from fedclade.wire import Arrival, Refusal, Reply
from fedclade.wire.message import AnyRequest
from fedclade.wire.verbs import TRAIN

Lie = Callable[[Reply], Reply]


def drop_replies(*clients: ClientId) -> Wire:
    """A wire on which nothing of these clients arrives."""
    return lambda replies: (reply for reply in replies if reply.client not in clients)


def drop_round(number: int) -> Wire:
    """A wire on which nobody's replies of this round arrive."""
    return lambda replies: (reply for reply in replies if reply.round != number)


def reverse_replies(replies: Iterator[Reply]) -> Iterable[Reply]:
    """A wire that hands the last reply over first."""
    return reversed(list(replies))


def lie(client: ClientId, how: Lie) -> Wire:
    """A wire on which one client's replies are changed."""
    return lambda replies: (how(reply) if reply.client == client else reply for reply in replies)


def not_a_number(reply: Reply) -> Reply:
    broken = {name: np.full(array.shape, np.nan, np.float32) for name, array in reply.arrays.items()}
    return replace(reply, arrays=broken)


def wrong_shape(reply: Reply) -> Reply:
    return replace(reply, arrays={name: array[None] for name, array in reply.arrays.items()})


def too_many_examples(reply: Reply) -> Reply:
    return replace(reply, examples=10**12)


LIES: dict[str, Lie] = {
    "not a number": not_a_number,
    "wrong shape": wrong_shape,
    "too many examples": too_many_examples,
}
"""Replies that the gate must refuse, whatever the verb."""


class Wrapped:
    """A transport around another one."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    def begin(self, number: int) -> Sequence[Refusal]:
        return self.inner.begin(number)

    def enrolled(self) -> Mapping[ClientId, Enrolment]:
        return self.inner.enrolled()

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        return self.inner.carry(requests)

    @property
    def cpu_seconds(self) -> float:
        return self.inner.cpu_seconds

    def close(self) -> None:
        self.inner.close()


class Growing(Wrapped):
    """Some clients join in the round after the first one in which somebody trained."""

    def __init__(self, inner: Transport, late: Sequence[ClientId]) -> None:
        super().__init__(inner)
        self.late = frozenset(late)
        self._trained = self._open = False

    def begin(self, number: int) -> Sequence[Refusal]:
        self._open = self._trained
        return super().begin(number)

    def enrolled(self) -> Mapping[ClientId, Enrolment]:
        known = super().enrolled()
        return {client: known[client] for client in known if self._open or client not in self.late}

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        self._trained |= any(request.verb.name == TRAIN.name for request in requests.values())
        return super().carry(requests)


class Disturbed(Wrapped):
    """Replies pass a wire where they have arrived."""

    def __init__(self, inner: Transport, wire: Wire) -> None:
        super().__init__(inner)
        self._wire = wire

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        arrived = list(super().carry(requests))
        replies = [each for each in arrived if isinstance(each, Reply)]
        return [*self._wire(iter(replies)), *(each for each in arrived if isinstance(each, Refusal))]
