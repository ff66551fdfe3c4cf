"""The server's end: requests travel over Flower's grid."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import NamedTuple

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from fedclade.core import ClientId, FedcladeError, Stopped, checked_ids
from fedclade.fleet.flower.bounds import pull_replies
from fedclade.fleet.flower.messages import (
    ENROL,
    LATE,
    MAX_HEADER_LENGTH,
    ClientFailed,
    arrays_in,
    kind_of,
    pack_message,
    reply_header_in,
)
from fedclade.fleet.site import ModelSpec
from fedclade.fleet.transport import Enrolment
from fedclade.wire import Arrival, Refusal, quote
from fedclade.wire.codec import read_reply, request_header, round_header
from fedclade.wire.message import AnyRequest
from fedclade.wire.verb import DeadlineName

log = logging.getLogger("flwr")  # a ServerApp's log, which `flwr run --stream` shows
PUSH_BATCH = 16  # messages handed to Flower in one call: it holds all of them in memory
PAUSES = (0.01, 0.5)  # seconds between two looks at what has arrived: at first, and at the most
MAX_ENROLLED_EXAMPLES = 2**40  # examples: no client has more
MAX_REPORTED_REFUSALS = 3  # so many refusals of one node are reported
MAX_RETRY_SECONDS = 600.0  # seconds until a node that was turned away many times is asked again


@dataclass(frozen=True)
class Deadlines:
    """Seconds until a reply is late, by the deadline that its verb names; and until an enrolment is."""

    train: float = 600.0
    losses: float = 600.0
    evaluate: float = 600.0
    sketch: float = 600.0
    enrol: float = 120.0

    def of(self, name: DeadlineName) -> float:
        return {"train": self.train, "losses": self.losses, "evaluate": self.evaluate, "sketch": self.sketch}[name]


class NodeEnrolment(NamedTuple):
    """The client that a node is."""

    client: ClientId
    examples: Enrolment


class FlowerTransport:
    """Carries requests to the clients that enrolled over a grid.

    `present` hides those that a simulated world has not let in yet; it changes in `change_rounds`. With `strict` an
    exception at a client is a bug that ends the run, and not a failed client.
    """

    def __init__(
        self,
        grid: Grid,
        spec: ModelSpec,
        deadlines: Deadlines,
        *,
        wait_for: int = 1,
        wait_seconds: float = 600.0,
        present: Callable[[int], Iterable[ClientId]] | None = None,
        change_rounds: Sequence[int] = (),
        strict: bool = False,
    ) -> None:
        self._grid, self._spec, self._deadlines = grid, spec, deadlines
        self._wait_for, self._wait_seconds = wait_for, wait_seconds
        self._present, self._change_rounds, self._strict = present, set(change_rounds), strict
        self._enrolment_by_node: dict[int, NodeEnrolment] = {}
        self._node_by_client: dict[ClientId, int] = {}  # the clients that can be asked now
        self._pending: dict[str, tuple[int, float]] = {}  # enrolments: message -> node, and when it is late
        self._refused_nodes: dict[int, tuple[int, float]] = {}  # node -> how often, and when it may come again

    @property
    def cpu_seconds(self) -> float:
        """Not known: clients compute elsewhere."""
        return 0.0

    def begin(self, number: int) -> tuple[Refusal, ...]:
        """Begin a round: see which clients came or left. It waits while they are too few, but not for newcomers."""
        if number in self._change_rounds:  # a simulated world changes: every node enrols again
            self._enrolment_by_node.clear()
        end = monotonic() + self._wait_seconds
        refused: list[Refusal] = []
        pause = PAUSES[0]
        while True:
            refused += self._update_nodes(number)
            wanted = self._wait_for if self._present is None else len(set(self._present(number)))
            if len(self._node_by_client) >= wanted:
                break
            if monotonic() > end:
                why = sorted({f"{each.client}: {each.reason}" for each in refused})[:3]
                got = " | ".join([str(len(self._node_by_client)), *why])
                need = f"{wanted} within {self._wait_seconds:g} s (engine.clients, engine.wait_seconds)"
                raise Stopped("too few clients came", where=f"round {number}", got=got, need=need)
            sleep(pause)
            pause = min(2 * pause, PAUSES[1])
        self._wait_for = 1  # once begun, a run goes on with the clients that are left
        return tuple(refused)

    def enrolments(self) -> Mapping[ClientId, Enrolment]:
        return {client: self._enrolment_by_node[node].examples for client, node in self._node_by_client.items()}

    def close(self) -> None:
        """The grid is Flower's own to close."""

    def _update_nodes(self, number: int) -> list[Refusal]:
        """Ask unknown nodes for their names, read what they answered, and see which clients are there."""
        registered = {int(node.node_id): str(node.name) for node in self._grid.get_nodes()}
        for node in set(self._enrolment_by_node) - set(registered):
            del self._enrolment_by_node[node]  # gone; when it comes back it enrols again
        self._ask_unknown_nodes(set(registered) - set(self._enrolment_by_node), number)
        refused: list[Refusal] = []
        for sent, message in pull_replies(self._grid, list(self._pending), MAX_HEADER_LENGTH):
            node, _ = self._pending.pop(sent)
            if node not in registered:
                continue
            came = self._read_enrolment(message, node, registered[node])
            if isinstance(came, NodeEnrolment):
                self._enrolment_by_node[node] = came
                self._refused_nodes.pop(node, None)
            else:
                times, _ = self._refused_nodes.get(node, (0, 0.0))
                self._refused_nodes[node] = (times + 1, monotonic() + min(2.0**times, MAX_RETRY_SECONDS))
                if times < MAX_REPORTED_REFUSALS:
                    log.warning("fedclade: %s is not let in: %s", came.client, came.reason)
                    refused.append(came)
        here = {came.client: node for node, came in self._enrolment_by_node.items()}
        if self._present is not None:
            here = {client: here[client] for client in self._present(number) if client in here}
        self._node_by_client = dict(sorted(here.items()))
        return refused

    def _ask_unknown_nodes(self, unknown_nodes: set[int], number: int) -> None:
        """Ask each for its name; not one that is being asked, nor, for a while, one that was turned away."""
        now = monotonic()
        self._pending = {sent: (node, end) for sent, (node, end) in self._pending.items() if end > now}
        busy = {node for node, _ in self._pending.values()}
        asked = [node for node in sorted(unknown_nodes - busy) if self._refused_nodes.get(node, (0, 0.0))[1] <= now]
        header, arrays = {**self._spec.header(), "number": number}, self._spec.arrays()

        def content(_: int) -> RecordDict:
            return pack_message(header, arrays)

        for sent, node in self._push(ENROL, self._deadlines.enrol, asked, content, number):
            if sent:
                self._pending[sent] = (node, now + self._deadlines.enrol)

    def _read_enrolment(self, message: Message | str, node: int, registered: str) -> NodeEnrolment | Refusal:
        """A node's enrolment, if its name is its own."""
        said = registered or "unknown"
        try:
            header = reply_header_in(message, node)
            name, train, test = header.get("client"), header.get("train"), header.get("test")
            if type(name) is not str or type(train) is not int or type(test) is not int:
                raise ValueError("an enrolment needs a name and two counts")
            said = registered or name[:200]
            if registered and name != registered:
                raise ValueError(f"client: got {quote(name)}, need {quote(registered)}, as its key was registered")
            checked_ids([name], where="its enrolment")
            if any(other.client == name and place != node for place, other in self._enrolment_by_node.items()):
                raise ValueError(f"client: {quote(name)} is the name of another node")
            if not (0 < train <= MAX_ENROLLED_EXAMPLES and 0 < test <= MAX_ENROLLED_EXAMPLES):
                raise ValueError(f"examples: got {quote(train)} and {quote(test)}, need 1 to {MAX_ENROLLED_EXAMPLES}")
            return NodeEnrolment(name, Enrolment(train, test))
        except ValueError as error:  # an InputError is one
            return Refusal(said, ENROL, str(error))

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterator[Arrival]:
        """Send one message to each client, and yield what arrives until the deadline."""
        first = next(iter(requests.values()), None)
        if first is None:
            return
        verb, number = first.verb, first.now.number
        deadline = self._deadlines.of(verb.deadline)
        clients = {self._node_by_client[client]: client for client in requests}

        def content(node: int) -> RecordDict:
            request = requests[clients[node]]
            header = {"request": request_header(request), "now": round_header(request.now)}
            return pack_message({**self._spec.header(), **header}, {"rows": request.rows, **self._spec.arrays()})

        waiting: dict[str, ClientId] = {}
        for sent, node in self._push(verb.name, deadline, list(clients), content, number):
            if sent:
                waiting[sent] = clients[node]
            else:
                yield Refusal(clients[node], verb.name, "Flower did not take the message")
        end = monotonic() + deadline
        pause = PAUSES[0]
        most = max(form.max_bytes for form in verb.forms(first).values())
        while waiting and monotonic() < end:
            heard = False
            for sent, message in pull_replies(self._grid, list(waiting), most):
                heard = True
                yield self._arrival(message, requests[waiting.pop(sent)], deadline)
            pause = PAUSES[0] if heard else min(2 * pause, PAUSES[1])
            if waiting:
                sleep(pause)
        for client in waiting.values():
            yield Refusal(client, verb.name, late_reason(deadline))

    def _arrival(self, message: Message | str, request: AnyRequest, deadline: float) -> Arrival:
        """A message as a reply for the gate, or why there is none."""
        client, verb = request.client, request.verb
        if not isinstance(message, str) and message.has_error() and message.error.code == LATE:
            return Refusal(client, verb.name, late_reason(deadline))
        try:
            header = reply_header_in(message, self._node_by_client[client])
            if header.get("client") != client:
                raise ValueError(f"client: got {quote(header.get('client'))}, need {quote(client)}")
            assert isinstance(message, Message)  # or there would be no answer
            return read_reply(header, arrays_in(message.content, verb.forms(request)))
        except ClientFailed as error:
            if self._strict:  # in a simulation nothing fails but the code
                raise FedcladeError(f'client "{client}" failed', where=verb.name, got=str(error)) from None
            return Refusal(client, verb.name, str(error))
        except ValueError as error:
            return Refusal(client, verb.name, str(error))

    def _push(
        self, name: str, deadline: float, nodes: Sequence[int], content: Callable[[int], RecordDict], number: int
    ) -> Iterator[tuple[str, int]]:
        """Hand messages to Flower, a few at a time: the id of each, empty if Flower did not take it, and its node."""
        for start in range(0, len(nodes), PUSH_BATCH):
            kind, group = kind_of(name), str(number)
            some = [
                Message(content=content(node), dst_node_id=node, message_type=kind, group_id=group, ttl=deadline)
                for node in nodes[start : start + PUSH_BATCH]
            ]
            taken = {each for each in self._grid.push_messages(some) if each}
            for message in some:  # paired by id: a refused message leaves a gap in one grid and none in another
                sent = message.metadata.message_id
                yield (sent if sent in taken else "", message.metadata.dst_node_id)


def late_reason(deadline: float) -> str:
    return f"no answer within {deadline:g} s"
