"""One client's side of every verb. The simulated fleet and a real one put the same questions to it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedclade.data import ClientData, Part, Pool
from fedclade.fleet.protocol import Ask, Reply
from fedclade.local.general import Asked, PathName, Training
from fedclade.local.moments import blurred, moments, secret_of, token_of
from fedclade.local.plan import Path, plan
from fedclade.local.remembered import Remembered
from fedclade.local.scatter import placing, scatter
from fedclade.local.sketch import sketch
from fedclade.local.steps import drawn
from fedclade.local.tuning import tuned
from fedclade.local.validation import judged, learned
from fedclade.nets import Net
from fedclade.nets.blind import Blind, secret
from fedclade.nets.encoders import NO_WEIGHTS
from fedclade.nouns import Round, Row


class Client:
    """Answers for any client whose data it is given; keeps one module and fills it with each model in turn."""

    def __init__(self, net: Net, path: Asked = "auto") -> None:
        self._net = net
        self._path = plan(net, path)
        self._scored = Remembered(self._path.score)
        self._blinds: dict[int, Blind] = {}

    @cached_property
    def _without_dropout(self) -> Path:
        """The one path that can leave it out."""
        return plan(self._net, "general")

    @property
    def path(self) -> PathName:
        """How it trains: see `fedclade.local.plan`."""
        return self._path.name

    def answer(self, ask: Ask, data: ClientData) -> Reply:
        """What the client replies. An exception here is a bug, or a client that fails: the engine decides which."""
        verbs = {"train": self._train, "losses": self._losses, "evaluate": self._evaluate, "sketch": self._sketch}
        verbs |= {"scatter": self._scatter, "moments": self._moments, "changed": self._changed}
        return self._closed(ask, verbs[ask.verb](self._opened(ask), data))

    def answers(self, asked: Sequence[tuple[Ask, ClientData]]) -> list[Reply]:
        """The replies of several clients: the same as one by one, but trained at once where that is faster."""
        if self._path.together == 1 or any(
            ask.verb != "train" or ask.encoder or not ask.now.dropout for ask, _ in asked
        ):
            return [self.answer(ask, data) for ask, data in asked]
        held = [learned(data.train, ask.now, ask.client) for ask, data in asked]
        shown = [self._opened(ask) for ask, _ in asked]
        begun = [
            Training(ask.rows[0], *drawn(part, ask.now, ask.client), ask.client, towards(ask))
            for ask, part in zip(shown, held, strict=True)
        ]
        found = self._path.train_all(begun)
        return [
            self._closed(ask, trained(ask, part, *each))
            for (ask, _), part, each in zip(asked, held, found, strict=True)
        ]

    @property
    def together(self) -> int:
        """How many clients are best trained at once."""
        return self._path.together

    def warm(self, inputs: NDArray[np.generic]) -> None:
        """Train once on two examples like these, so that the first client waits for nothing that is made once."""
        alike = Part(Pool(np.zeros_like(inputs, shape=(2, *inputs.shape[1:])), np.zeros(2, np.int64)), np.arange(2))
        with suppress(Exception):  # what is wrong with the module shows when a client answers
            self._path.train(self._net.first(0), alike, Round(0, 0), "nobody")

    def _opened(self, ask: Ask) -> Ask:
        """The request with its models as they are, if they came blind."""
        if not ask.now.local.blind or ask.encoder or not ask.rows.size:  # an encoder is no secret
            return ask
        return replace(ask, rows=self._blind(ask.now).shown(ask.rows))

    def _closed(self, ask: Ask, reply: Reply) -> Reply:
        """The reply with its model blind, if they are to be."""
        if not ask.now.local.blind or ask.encoder or ask.verb != "train":
            return reply
        row = self._blind(ask.now).hidden(np.asarray(reply.arrays["row"], np.float32))
        return replace(reply, arrays={**reply.arrays, "row": row})

    def _blind(self, now: Round) -> Blind:
        if now.seed not in self._blinds:
            self._blinds = {now.seed: Blind(self._net, now.seed, secret())}
        return self._blinds[now.seed]

    def _train(self, ask: Ask, data: ClientData) -> Reply:
        if ask.encoder:
            epochs = ask.now.local.epochs
            return trained(ask, data.train, *tuned(ask.encoder, ask.rows[0], data.train, epochs, ask.now, ask.client))
        part = learned(data.train, ask.now, ask.client)
        this_round, how = drawn(part, ask.now, ask.client)
        path = self._path if how.dropout else self._without_dropout
        return trained(ask, part, *path.train(ask.rows[0], this_round, how, ask.client, towards(ask)))

    def _losses(self, ask: Ask, data: ClientData) -> Reply:
        part = judged(data.train, ask.now, ask.client)
        found = self._path.losses(ask.rows, part)
        return Reply("losses", ask.client, ask.now.number, len(part), {"losses": found})

    def _evaluate(self, ask: Ask, data: ClientData) -> Reply:
        correct, loss = self._scored(ask.rows[0], data.test)
        arrays = {"correct": np.array(correct, np.int64), "loss": np.array(loss, np.float64)}
        return Reply("evaluate", ask.client, ask.now.number, len(data.test), arrays)

    def _sketch(self, ask: Ask, data: ClientData) -> Reply:
        basis = ask.rows if len(ask.rows) > 1 else ask.rows[:0]
        weights = ask.rows[0] if len(ask.rows) == 1 else NO_WEIGHTS
        always = replace(ask.now, number=0)  # the same examples have the same points in every round
        if ask.epochs:
            weights, _ = tuned(ask.encoder, weights, data.train, ask.epochs, always, ask.client)
        place = placing(basis, ask.own)
        points, counts = sketch(data.train, ask.encoder, ask.points, always, ask.client, weights, place)
        token = np.array(token_of(data.train, ask.now, ask.client), np.int64)
        arrays: dict[str, NDArray[np.generic]] = {"points": points, "counts": counts, "token": token}
        return Reply("sketch", ask.client, ask.now.number, len(data.train), arrays)

    def _scatter(self, ask: Ask, data: ClientData) -> Reply:
        total, products = scatter(data.train, ask.encoder)
        return Reply("scatter", ask.client, ask.now.number, len(data.train), {"total": total, "products": products})

    def _moments(self, ask: Ask, data: ClientData) -> Reply:
        fewest = max(ask.fewest, 2) if ask.noise else ask.fewest  # noise is as large as examples differ: one does not
        told = moments(data.train, ask.encoder, ask.classes, fewest)
        counts, means, variances = blurred(*told, ask.noise, secret_of(data.train, ask.client))
        token = np.array(token_of(data.train, ask.now, ask.client), np.int64)
        arrays: dict[str, NDArray[np.generic]] = {"counts": counts, "means": means, "variances": variances}
        return Reply("moments", ask.client, ask.now.number, len(data.train), {**arrays, "token": token})

    def _changed(self, ask: Ask, data: ClientData) -> Reply:
        changed = np.array(token_of(data.train, ask.now, ask.client) != ask.token)
        return Reply("changed", ask.client, ask.now.number, len(data.train), {"changed": changed})


def towards(ask: Ask) -> Row | None:
    """Where training is pulled to, if not to where it starts."""
    return ask.rows[1] if len(ask.rows) > 1 else None


def trained(ask: Ask, part: Part, row: Row, loss: float) -> Reply:
    """The reply of a client that has trained on these examples."""
    return Reply("train", ask.client, ask.now.number, len(part), {"row": row, "loss": np.array(loss, np.float64)})


Answer = Callable[[Sequence[Ask]], Sequence[Reply]]
"""What a fleet needs of its clients: the replies to several requests, in their order."""
