"""The gate: every reply is compared with what the server asked, alone, before anybody uses it.

A reply that does not fit is refused and recorded; for the method it is as if the client had been silent. Nothing that a
client sends raises an exception here.
"""

from collections.abc import Iterable, Iterator, Mapping

from fedclade.fleet.transport import Enrolment
from fedclade.nouns import ClientId
from fedclade.wire import Arrival, Refusal, Reply, quote
from fedclade.wire.message import AnyRequest

IMPLAUSIBLE = 10  # a client does not suddenly have so many times the examples that it joined with


def fault(reply: Reply, request: AnyRequest, enrolled: int) -> str:
    """What is wrong with this reply to this request; empty if nothing is."""
    verb = request.verb
    said: object = reply.verb  # a client may say anything
    if type(said) is not str or said != verb.name:
        return f"verb: got {quote(said)}, need {verb.name!r}"
    if type(reply.round) is not int or reply.round != request.now.number:
        return f"round: got {quote(reply.round)}, need {request.now.number}"
    if type(reply.examples) is not int or not 0 < reply.examples <= IMPLAUSIBLE * enrolled:
        return f"examples: got {quote(reply.examples)}, need a whole number from 1 to {IMPLAUSIBLE * enrolled}"
    forms = verb.forms(request)
    if not isinstance(reply.arrays, Mapping) or set(reply.arrays) != set(forms):
        return f"arrays: need {sorted(forms)}"
    for name, form in forms.items():
        if found := form.fault(reply.arrays[name]):
            return f"{name}: {found}"
    return verb.fault(request, reply)


class Gate:
    """The gate of one call of a verb: lets replies through in the order of the request."""

    def __init__(self, requests: Mapping[ClientId, AnyRequest], enrolled: Mapping[ClientId, Enrolment]) -> None:
        self._requests, self._enrolled = requests, enrolled
        self._refused: list[Refusal] = []

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What was not let through so far."""
        return tuple(self._refused)

    def admit(self, arrivals: Iterable[Arrival]) -> Iterator[Reply]:
        """The replies that fit, one for each client at most, in the order of the request.

        A reply waits here only while one that was asked for before it is missing.
        """
        waiting: dict[ClientId, Reply] = {}
        heard: set[ClientId] = set()
        order = iter(self._requests)
        turn = next(order, None)
        for reply in arrivals:
            if isinstance(reply, Refusal):
                self._refused.append(reply)
                continue
            if found := self._fault(reply, heard):
                self._refuse(reply, found)
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
        enrolment = self._enrolled[reply.client]
        return fault(reply, request, enrolment.train if request.verb.part == "train" else enrolment.test)

    def _refuse(self, reply: Reply, reason: str) -> None:
        verb = next((request.verb.name for request in self._requests.values()), reply.verb)
        self._refused.append(Refusal(str(reply.client)[:200], verb, reason))
