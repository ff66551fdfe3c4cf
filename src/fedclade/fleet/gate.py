"""The gate: every reply is compared with the request, alone, before it is used.

A reply that does not fit is refused and recorded; for the method it is as if the client had been silent. Nothing that a
client sends raises an exception here.
"""

from collections.abc import Iterable, Iterator, Mapping

from fedclade.core import ClientId
from fedclade.fleet.transport import Enrolment
from fedclade.wire import Arrival, Refusal, Reply, has_overflow, quote
from fedclade.wire.message import AnyRequest

MAX_EXAMPLE_FACTOR = 10  # a client does not suddenly have so many times the examples that it joined with


def fault(reply: Reply, request: AnyRequest, enrolled_examples: int) -> str:
    """What is wrong with this reply to this request; empty if nothing is."""
    verb = request.verb
    said: object = reply.verb  # a client may say anything
    if type(said) is not str or said != verb.name:
        return f"verb: got {quote(said)}, need {verb.name!r}"
    if type(reply.round) is not int or reply.round != request.now.number:
        return f"round: got {quote(reply.round)}, need {request.now.number}"
    most = MAX_EXAMPLE_FACTOR * enrolled_examples
    if type(reply.examples) is not int or not 0 < reply.examples <= most:
        return f"examples: got {quote(reply.examples)}, need a whole number from 1 to {most}"
    forms = verb.forms(request)
    if not isinstance(reply.arrays, Mapping) or set(reply.arrays) != set(forms):
        return f"arrays: need {sorted(forms)}"
    for name, form in forms.items():
        if found := form.fault(reply.arrays[name]):
            return f"{name}: {found}"
    return verb.fault(request, reply)


def overflows(reply: Reply) -> bool:
    """Whether a reply that is refused has numbers that are not finite or too large."""
    return isinstance(reply.arrays, Mapping) and any(map(has_overflow, reply.arrays.values()))


class Gate:
    """The gate of one call of a verb: lets replies through in the order of the request."""

    def __init__(self, requests: Mapping[ClientId, AnyRequest], enrolments: Mapping[ClientId, Enrolment]) -> None:
        self._requests, self._enrolments = requests, enrolments
        self.refusals: list[Refusal] = []

    def admit(self, arrivals: Iterable[Arrival]) -> Iterator[Reply]:
        """The replies that fit, one for each client at most, in the order of the request.

        A reply waits here only while one that stands before it in the request is missing.
        """
        waiting: dict[ClientId, Reply] = {}
        heard: set[ClientId] = set()
        order = iter(self._requests)
        turn = next(order, None)
        for reply in arrivals:
            if isinstance(reply, Refusal):
                self.refusals.append(reply)
                continue
            if found := self._fault(reply, heard):
                verb = next(iter(self._requests.values())).verb.name if self._requests else reply.verb
                self.refusals.append(Refusal(str(reply.client)[:200], verb, found, overflows(reply)))
                continue
            heard.add(reply.client)
            waiting[reply.client] = reply
            while turn is not None and turn in waiting:
                yield waiting.pop(turn)
                turn = next(order, None)
        for client in self._requests:
            if client in waiting:
                yield waiting.pop(client)

    def _fault(self, reply: Reply, heard: set[ClientId]) -> str:
        if not isinstance(reply.client, str) or reply.client not in self._requests:
            return "client: was not asked"
        if reply.client in heard:
            return "client: has answered already"
        request = self._requests[reply.client]
        enrolment = self._enrolments[reply.client]
        return fault(reply, request, enrolment.train if request.verb.part == "train" else enrolment.test)
