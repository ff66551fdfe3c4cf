"""A client's part: it answers requests from its own data. One object plays any number of clients, one after another."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.data import ClientData, Part, Pool
from fedclade.local.general import Asked, PathName, Training
from fedclade.local.handlers import HANDLERS, Answered, towards, trained
from fedclade.local.plan import Path, plan
from fedclade.local.remembered import Remembered
from fedclade.local.steps import drawn
from fedclade.local.validation import learned
from fedclade.nets import Net
from fedclade.nets.blind import Blind, secret
from fedclade.nouns import ClientId, Round
from fedclade.wire import Reply
from fedclade.wire.message import AnyRequest
from fedclade.wire.verbs import TRAIN, TrainFields

Holdings: TypeAlias = Callable[[ClientId, int], ClientData]
"""What a client holds in a round."""


class Client:
    """Answers for any client whose data it is given; keeps one module and fills it with each model in turn."""

    def __init__(self, net: Net, path: Asked = "auto") -> None:
        self._net = net
        self.path = plan(net, path)
        """How it trains: see `fedclade.local.plan`."""
        self.score = Remembered(self.path.score)
        self._blinds: dict[int, Blind] = {}

    @cached_property
    def _without_dropout(self) -> Path:
        """The one path that can leave it out."""
        return plan(self._net, "general")

    @property
    def path_name(self) -> PathName:
        return self.path.name

    @property
    def together(self) -> int:
        """How many clients are best trained at once."""
        return self.path.together

    def path_for(self, now: Round) -> Path:
        """How it trains in this round."""
        return self.path if now.dropout else self._without_dropout

    def answer(self, request: AnyRequest, data: ClientData) -> Reply:
        """The reply of one client. An exception here is a bug, or a client that fails: the transport decides which."""
        return self._reply(request, HANDLERS[request.verb.name](self, self._open(request), data))

    def answers(self, requests: Sequence[AnyRequest], held: Holdings) -> list[Reply]:
        """The replies of several clients: the same as one by one, but trained at once where that is faster."""
        if self.together > 1 and all(
            request.verb.name == TRAIN.name and not request.fields.encoder and request.now.dropout
            for request in requests
        ):
            return self._train_together(requests, held)
        replies: list[Reply] = []
        for request in requests:
            replies.append(self.answer(request, held(request.client, request.now.number)))
        return replies

    def warm(self, inputs: NDArray[np.generic]) -> None:
        """Train once on two examples like these, so that the first client waits for nothing that is made once."""
        alike = Part(Pool(np.zeros_like(inputs, shape=(2, *inputs.shape[1:])), np.zeros(2, np.int64)), np.arange(2))
        with suppress(Exception):  # what is wrong with the module shows when a client answers
            self.path.train(self._net.first(0), alike, Round(0, 0), "nobody")

    def _train_together(self, requests: Sequence[AnyRequest], held: Holdings) -> list[Reply]:
        parts, begun = [], []
        for request in requests:
            data, shown = held(request.client, request.now.number), self._open(request)
            parts.append(learned(data.train, request.now, request.client))
            this_round, how = drawn(parts[-1], request.now, request.client)
            begun.append(Training(shown.rows[0], this_round, how, request.client, towards(shown)))
        found = self.path.train_all(begun)
        return [
            self._reply(request, trained(part, *each))
            for request, part, each in zip(requests, parts, found, strict=True)
        ]

    def _reply(self, request: AnyRequest, answered: Answered) -> Reply:
        """The reply, with its model in the secret order if the run is blind."""
        examples, arrays = answered
        if request.verb.name == TRAIN.name and is_blind(request):
            hidden = self._blind(request.now).hidden(np.asarray(arrays["row"], np.float32))
            arrays = {**arrays, "row": hidden}
        return Reply(request.verb.name, request.client, request.now.number, examples, arrays)

    def _open(self, request: AnyRequest) -> AnyRequest:
        """The request with its models as they are, if they came in the secret order."""
        if not is_blind(request) or not request.rows.size:
            return request
        return replace(request, rows=self._blind(request.now).shown(request.rows))

    def _blind(self, now: Round) -> Blind:
        if now.seed not in self._blinds:
            self._blinds = {now.seed: Blind(self._net, now.seed, secret())}
        return self._blinds[now.seed]


def is_blind(request: AnyRequest) -> bool:
    """Whether models of the net travel in a secret order; an encoder is no secret."""
    tuning = isinstance(request.fields, TrainFields) and request.fields.encoder != ""
    return request.now.local.blind and request.verb.rows_are == "models" and not tuning
