"""The ledger: bytes, replies and refusals, counted where they cross the seam, whatever the transport.

A number costs what it costs in memory: 4 bytes a parameter, 8 for a count or a loss. Names, headers and encryption are
the transport's own and not counted. Bytes down are those sent out, answered or not; bytes up are those of replies.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fedclade.core import ClientId
from fedclade.wire.message import AnyRequest, Refusal, Reply
from fedclade.wire.verb import AnyVerb
from fedclade.wire.verbs import EVALUATE, TRAIN, TRAIN_BEST, TRAIN_MEAN

PARAMETER = 4  # bytes
EXAMPLES = 8  # bytes: every reply says how many examples it is about
TRAINING_LABELS = (TRAIN.ledger_label, TRAIN_MEAN.ledger_label, TRAIN_BEST.ledger_label)


@dataclass
class Ledger:
    """What crossed the seam since the ledger was opened."""

    down: dict[str, int] = field(default_factory=dict)
    """Bytes to clients, by the label of the verb."""
    up: dict[str, int] = field(default_factory=dict)
    by_client: dict[ClientId, int] = field(default_factory=dict)
    """Bytes up and down of each client that was asked, evaluation left out."""
    trained: set[ClientId] = field(default_factory=set)
    losses: dict[ClientId, float] = field(default_factory=dict)
    """The latest training loss of each of these, as it said."""
    refused: list[Refusal] = field(default_factory=list)
    silent: list[tuple[str, ClientId]] = field(default_factory=list)
    seconds: float = 0.0
    """How long the server waited for clients."""

    def record_requests(self, verb: AnyVerb, requests: Mapping[ClientId, AnyRequest]) -> None:
        label = verb.ledger_label
        self.down.setdefault(label, 0)
        self.up.setdefault(label, 0)
        sizes: dict[int, int] = {}  # of fields, which are often the same object for all clients
        for client, request in requests.items():
            if id(request.fields) not in sizes:
                sizes[id(request.fields)] = verb.field_bytes(request.fields)
            size = request.rows.size * PARAMETER + sizes[id(request.fields)]
            self.down[label] += size
            self._record_client(verb, client, size)

    def record_reply(self, verb: AnyVerb, reply: Reply) -> None:
        label = verb.ledger_label
        size = EXAMPLES + sum(array.nbytes for array in reply.arrays.values())
        self.up[label] += size
        self._record_client(verb, reply.client, size)
        if label in TRAINING_LABELS:
            self.trained.add(reply.client)
            self.losses[reply.client] = float(reply.arrays["loss"])

    def record_missing(
        self, verb: AnyVerb, asked: Iterable[ClientId], heard: Collection[ClientId], refused: Iterable[Refusal]
    ) -> None:
        """Record, when a call is over, what was refused, and which clients said nothing at all."""
        refused = tuple(refused)
        self.refused.extend(refused)
        accounted = {*heard, *(refusal.client for refusal in refused)}
        self.silent.extend((verb.ledger_label, client) for client in asked if client not in accounted)

    def totals(self) -> dict[str, tuple[int, int]]:
        """Bytes down and up, by the label of the verb."""
        return {label: (self.down[label], self.up[label]) for label in self.down}

    def add_totals(self, totals: Mapping[str, tuple[int, int]]) -> None:
        """Add what crossed before, over a fleet that had no net yet."""
        for label, (down, up) in totals.items():
            self.down[label] = self.down.get(label, 0) + down
            self.up[label] = self.up.get(label, 0) + up

    def _record_client(self, verb: AnyVerb, client: ClientId, size: int) -> None:
        if verb.name != EVALUATE.name:
            self.by_client[client] = self.by_client.get(client, 0) + size
