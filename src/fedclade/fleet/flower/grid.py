"""The server's end: the fleet as a server reaches it over Flower's grid."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic, sleep

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from fedclade.fleet import server
from fedclade.fleet.flower.messages import KINDS, LATE, answered, arrays_in, packed
from fedclade.fleet.gate import Arrival, expected, quoted
from fedclade.fleet.letters import header_of
from fedclade.fleet.protocol import (
    Ask,
    Described,
    Flags,
    Losses,
    Means,
    Refusal,
    Reply,
    Scores,
    Sketches,
    Updates,
)
from fedclade.fleet.site import Task, Trip
from fedclade.nets.encoders import width_of
from fedclade.nouns import Assignment, ClientId, InputError, Round, Rows, Stopped, checked_ids

AT_ONCE = 16  # messages handed to Flower in one call: it holds all of them in memory
PAUSES = (0.01, 0.5)  # seconds between two looks at what has arrived: at first, and at the most
MOST_ENROLLED = 2**40  # examples: nobody has more


@dataclass(frozen=True)
class Deadlines:
    """Seconds until a reply to each verb is late."""

    train: float = 600.0
    losses: float = 600.0
    evaluate: float = 600.0
    sketch: float = 600.0
    moments: float = 600.0
    changed: float = 600.0
    enrol: float = 120.0


@dataclass(frozen=True)
class Enrolled:
    """What a node said of itself."""

    client: ClientId
    train: int
    test: int


class FlowerFleet:
    """All clients that enrolled over a grid. `present` hides those that a simulated world has not let in yet."""

    def __init__(
        self,
        grid: Grid,
        task: Task,
        parameters: int,
        deadlines: Deadlines,
        *,
        wait_for: int = 1,
        wait_seconds: float = 600.0,
        present: Callable[[int], Iterable[ClientId]] | None = None,
        turns: Sequence[int] = (),
    ) -> None:
        self._grid, self._task, self._deadlines = grid, task, deadlines
        self._wait_for, self._wait_seconds = wait_for, wait_seconds
        self._present, self._turns = present, set(turns)
        self._enrolled: dict[int, Enrolled] = {}  # by node
        self._nodes: dict[ClientId, int] = {}  # who can be asked now
        self._asked: dict[str, int] = {}  # enrolments under way: message -> node
        self._told: set[tuple[int, str]] = set()  # refusals that were reported
        self._closed = threading.Event()
        self._post = server.Post(
            parameters=parameters,
            width=partial(width_of, shape=task.shape),
            classes=task.classes,
            trained=lambda: {client: self._enrolled[node].train for client, node in self._nodes.items()},
            tested=lambda: {client: self._enrolled[node].test for client, node in self._nodes.items()},
            carry=self._carry,
        )

    def close(self) -> None:
        """Stop waiting for anybody."""
        self._closed.set()

    @property
    def cpu_seconds(self) -> float:
        """The clients' own seconds are theirs: a server does not know them."""
        return 0.0

    def begin(self, number: int) -> tuple[Refusal, ...]:
        """A round begins: who came, who left, who was not let in. Newcomers are not waited for, too few clients are."""
        if number in self._turns:  # a simulated world changes: everybody says again what it has
            self._enrolled.clear()
        end = monotonic() + self._wait_seconds
        refused: list[Refusal] = []
        pause = PAUSES[0]
        while True:
            refused += self._meet(number)
            wanted = self._wait_for if self._present is None else len(set(self._present(number)))
            if len(self._nodes) >= wanted:
                break
            if monotonic() > end or self._closed.is_set():
                raise Stopped(
                    "too few clients came",
                    where=f"round {number}",
                    got=str(len(self._nodes)),
                    need=f"{wanted} within {self._wait_seconds:g} s (engine.clients, engine.wait_seconds)",
                )
            sleep(pause)
            pause = min(2 * pause, PAUSES[1])
        self._wait_for = 1  # once begun, a run goes on with who is left
        return tuple(refused)

    def clients(self) -> tuple[ClientId, ...]:
        return tuple(self._nodes)

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        return {client: self._enrolled[self._nodes[client]].train for client in clients}

    def train(self, starts: Assignment, now: Round) -> Updates:
        return server.train(self._post, starts, now)

    def train_mean(self, starts: Assignment, now: Round) -> Means:
        return server.train_mean(self._post, starts, now)

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
        return server.losses(self._post, clients, rows, now)

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        return server.evaluate(self._post, models, now)

    def sketch(self, clients: Sequence[ClientId], encoder: str, points: int, now: Round) -> Sketches:
        return server.sketch(self._post, clients, encoder, points, now)

    def moments(self, clients: Sequence[ClientId], encoder: str, fewest: int, now: Round) -> Described:
        return server.moments(self._post, clients, encoder, fewest, now)

    def changed(self, tokens: Mapping[ClientId, int], now: Round) -> Flags:
        return server.changed(self._post, tokens, now)

    def _meet(self, number: int) -> list[Refusal]:
        """Ask nodes that nobody knows for their names, hear who has answered, and see who is there."""
        registered = {int(node.node_id): str(node.name) for node in self._grid.get_nodes()}
        for node in set(self._enrolled) - set(registered):
            del self._enrolled[node]  # gone; when it comes back it enrols again
        strangers = set(registered) - set(self._enrolled) - set(self._asked.values())
        header = {**self._task.header(), "number": number}
        for sent, node in self._sent("enrol", {node: packed(header, {}) for node in sorted(strangers)}, number):
            if sent:
                self._asked[sent] = node
        refused: list[Refusal] = []
        for message in pulled(self._grid, list(self._asked)):
            came_from = self._asked.pop(message.metadata.reply_to_message_id, None)
            if came_from is None or came_from not in registered:
                continue
            came = self._admitted(message, came_from, registered[came_from])
            if isinstance(came, Enrolled):
                self._enrolled[came_from] = came
            elif (came_from, came.reason) not in self._told:
                self._told.add((came_from, came.reason))
                refused.append(came)
        here = {came.client: node for node, came in self._enrolled.items()}
        if self._present is not None:
            here = {client: here[client] for client in self._present(number) if client in here}
        self._nodes = dict(sorted(here.items()))
        return refused

    def _admitted(self, message: Message, node: int, registered: str) -> Enrolled | Refusal:
        """A node's enrolment, if its name is its own."""
        said = registered or "unknown"
        try:
            header = answered(message)
            name, train, test = header.get("client"), header.get("train"), header.get("test")
            said = name[:200] if isinstance(name, str) and name else said
            if not isinstance(name, str) or not isinstance(train, int) or not isinstance(test, int):
                raise ValueError("an enrolment needs a name and two counts")
            checked_ids([name], where="its enrolment")
            if registered and name != registered:
                raise ValueError(f"client: got {quoted(name)}, need {quoted(registered)}, as its key was registered")
            if any(other.client == name and place != node for place, other in self._enrolled.items()):
                raise ValueError(f"client: {quoted(name)} is the name of another node")
            if not (0 < train <= MOST_ENROLLED and 0 < test <= MOST_ENROLLED):
                raise ValueError(f"examples: got {quoted(train)} and {quoted(test)}, need at least 1 each")
            return Enrolled(name, train, test)
        except (ValueError, InputError) as wrong:
            return Refusal(said, "enrol", str(wrong))

    def _carry(self, asks: Mapping[ClientId, Ask]) -> Iterator[Arrival]:
        """Send one message to each client, and hand over what arrives until the deadline."""
        verb = next((ask.verb for ask in asks.values()), None)
        if verb is None:
            return
        nodes = {self._nodes[client]: client for client in asks}
        contents = {
            node: packed({**self._task.header(), **header_of(asks[client])}, {"rows": asks[client].rows})
            for node, client in nodes.items()
        }
        waiting: dict[str, ClientId] = {}
        number = next(iter(asks.values())).now.number
        for sent, node in self._sent(verb, contents, number):
            if sent:
                waiting[sent] = nodes[node]
            else:
                yield Refusal(nodes[node], verb, "Flower did not take the message")
        deadline: float = getattr(self._deadlines, verb)
        end = monotonic() + deadline
        pause = PAUSES[0]
        while waiting and monotonic() < end and not self._closed.is_set():
            heard = False
            for message in pulled(self._grid, list(waiting)):
                client = waiting.pop(message.metadata.reply_to_message_id, None)
                if client is not None:
                    heard = True
                    yield self._arrival(message, asks[client], deadline)
            pause = PAUSES[0] if heard else min(2 * pause, PAUSES[1])
            if waiting:
                sleep(pause)
        for client in waiting.values():
            yield Refusal(client, verb, late(deadline))

    def _arrival(self, message: Message, ask: Ask, deadline: float) -> Arrival:
        """A message as a reply for the gate, or why there is none."""
        if message.has_error() and message.error.code == LATE:
            return Refusal(ask.client, ask.verb, late(deadline))
        try:
            if not message.has_error() and message.metadata.src_node_id != self._nodes[ask.client]:
                raise ValueError("client: the reply came from another node")
            header = answered(message)
            if header.get("client") != ask.client:
                raise ValueError(f"client: got {quoted(header.get('client'))}, need {quoted(ask.client)}")
            arrays = arrays_in(message.content, expected(ask))
        except ValueError as wrong:
            return Refusal(ask.client, ask.verb, str(wrong))
        verb, number, examples = header.get("verb"), header.get("round"), header.get("examples")
        return Reply(verb, ask.client, number, examples, arrays)  # type: ignore[arg-type]  # the gate looks at the types

    def _sent(self, trip: Trip, contents: Mapping[int, RecordDict], number: int) -> Iterator[tuple[str, int]]:
        """Hand messages to Flower, a few at a time: the id of each, empty if Flower did not take it, and its node."""
        nodes = list(contents)
        for start in range(0, len(nodes), AT_ONCE):
            some = [
                Message(
                    content=contents[node],
                    dst_node_id=node,
                    message_type=KINDS[trip],
                    group_id=str(number),
                    ttl=getattr(self._deadlines, trip),
                )
                for node in nodes[start : start + AT_ONCE]
            ]
            taken = {each for each in self._grid.push_messages(some) if each}
            for message in some:  # paired by id: a refused message leaves a gap in one grid and none in another
                number_of = message.metadata.message_id
                yield (number_of if number_of in taken else "", message.metadata.dst_node_id)


def late(deadline: float) -> str:
    """The reason of a client that did not answer in time."""
    return f"no answer within {deadline:g} s"


def pulled(grid: Grid, messages: Sequence[str]) -> Iterator[Message]:
    """What has arrived in answer to these messages, a few at a time."""
    for start in range(0, len(messages), AT_ONCE):
        yield from grid.pull_messages(messages[start : start + AT_ONCE])
