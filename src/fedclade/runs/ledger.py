"""The seam between a method and its fleet: bytes, replies and refusals are counted here, whatever the engine.

A number costs what it costs in memory: 4 bytes a parameter, 8 for a count or a loss. Names, headers and encryption are
the engine's own and not counted. Bytes down are those sent out, answered or not; bytes up are those of replies.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from fedclade.fleet.protocol import (
    Described,
    Flags,
    Fleet,
    Losses,
    Means,
    Refusal,
    Scatter,
    Scores,
    Sketches,
    Sketching,
    Updates,
)
from fedclade.nouns import Assignment, ClientId, Round, Row, Rows

NUMBER = 8  # bytes of a count or a loss
PARAMETER = 4  # bytes


@dataclass
class Ledger:
    """What crossed the seam since the ledger was opened."""

    down: dict[str, int] = field(default_factory=dict)
    up: dict[str, int] = field(default_factory=dict)
    by_client: dict[ClientId, int] = field(default_factory=dict)
    """Bytes up and down of each client that was asked, evaluation left out."""
    trained: set[ClientId] = field(default_factory=set)
    refused: list[Refusal] = field(default_factory=list)
    silent: list[tuple[str, ClientId]] = field(default_factory=list)
    seconds: float = 0.0
    """How long clients were waited for."""

    @contextmanager
    def away(self) -> Iterator[None]:
        """Inside, clients are waited for."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - begin

    def book(
        self,
        verb: str,
        asked: Sequence[ClientId],
        heard: Sequence[ClientId],
        down: int,
        up: dict[ClientId, int],
        refused: Sequence[Refusal],
    ) -> None:
        """One call of a verb: `down` bytes went to each client that was asked, `up` came from those that were heard."""
        self.down[verb] = self.down.get(verb, 0) + down * len(asked)
        self.up[verb] = self.up.get(verb, 0) + sum(up.values())
        if verb != "evaluate":
            for client in asked:
                self.by_client[client] = self.by_client.get(client, 0) + down + up.get(client, 0)
        if verb in ("train", "train_mean"):
            self.trained.update(heard)
        self.refused.extend(refused)
        accounted = {*heard, *(refusal.client for refusal in refused)}
        self.silent.extend((verb, client) for client in asked if client not in accounted)


class Counted:
    """A fleet that keeps a ledger of every call."""

    def __init__(self, fleet: Fleet, ledger: Ledger) -> None:
        self._fleet, self._ledger = fleet, ledger

    def clients(self) -> tuple[ClientId, ...]:
        return self._fleet.clients()

    def examples(self, clients: Sequence[ClientId]) -> dict[ClientId, int]:
        return self._fleet.examples(clients)

    def layers(self) -> tuple[int, ...]:
        return self._fleet.layers()

    def train(self, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
        with self._ledger.away():
            updates = self._fleet.train(starts, now, towards)
        self._book_training("train", starts, updates.clients, updates.refused, models=1 if towards is None else 2)
        return updates

    def train_mean(self, starts: Assignment, now: Round, encoder: str = "") -> Means:
        with self._ledger.away():
            means = self._fleet.train_mean(starts, now, encoder)
        self._book_training("tune" if encoder else "train_mean", starts, means.heard, means.refused)
        return means

    def losses(self, clients: Sequence[ClientId], rows: Rows, now: Round) -> Losses:
        with self._ledger.away():
            losses = self._fleet.losses(clients, rows, now)
        up = dict.fromkeys(losses.clients, NUMBER * (len(rows) + 1))
        self._ledger.book("losses", clients, losses.clients, rows.size * PARAMETER, up, losses.refused)
        return losses

    def evaluate(self, models: Assignment, now: Round) -> Scores:
        with self._ledger.away():
            scores = self._fleet.evaluate(models, now)
        up = dict.fromkeys(scores.clients, 3 * NUMBER)
        down = models.rows.shape[1] * PARAMETER
        self._ledger.book("evaluate", models.clients, scores.clients, down, up, scores.refused)
        return scores

    def weights(self, encoder: str) -> Row:
        return self._fleet.weights(encoder)

    def attention(self, network: str, kind: str) -> Row:
        return self._fleet.attention(network, kind)

    def sketch(self, clients: Sequence[ClientId], how: Sketching, now: Round) -> Sketches:
        with self._ledger.away():
            sketches = self._fleet.sketch(clients, how, now)
        up = {client: found.size * PARAMETER + (len(found) + 2) * NUMBER for client, found in sketches.points.items()}
        self._ledger.book("sketch", clients, tuple(up), sketches.sent * PARAMETER, up, sketches.refused)
        return sketches

    def scatter(self, clients: Sequence[ClientId], encoder: str, now: Round) -> Scatter:
        with self._ledger.away():
            scatter = self._fleet.scatter(clients, encoder, now)
        width = len(scatter.total)
        each = width * (width + 1) // 2 * PARAMETER + (width + 1) * NUMBER  # with the examples
        up = dict.fromkeys(scatter.heard, each)
        self._ledger.book("scatter", clients, scatter.heard, 0, up, scatter.refused)
        return scatter

    def moments(self, clients: Sequence[ClientId], encoder: str, fewest: int, noise: float, now: Round) -> Described:
        with self._ledger.away():
            described = self._fleet.moments(clients, encoder, fewest, noise, now)
        _, labels, features = described.moments.means.shape
        heard = described.moments.clients
        each = labels * (features + 1) * PARAMETER + (labels + 2) * NUMBER  # with the token and the examples
        self._ledger.book("moments", clients, heard, 0, dict.fromkeys(heard, each), described.refused)
        return described

    def changed(self, tokens: Mapping[ClientId, int], now: Round) -> Flags:
        with self._ledger.away():
            flags = self._fleet.changed(tokens, now)
        heard = tuple(flags.raised)
        self._ledger.book("changed", tuple(tokens), heard, NUMBER, dict.fromkeys(heard, 1 + NUMBER), flags.refused)
        return flags

    def _book_training(
        self, verb: str, starts: Assignment, heard: Sequence[ClientId], refused: Sequence[Refusal], models: int = 1
    ) -> None:
        model = starts.rows.shape[1] * PARAMETER
        up = dict.fromkeys(heard, model + 2 * NUMBER)
        self._ledger.book(verb, starts.clients, heard, models * model, up, refused)
