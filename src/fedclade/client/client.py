"""A client's part: it answers requests from its own data. One object plays any number of clients, one after another."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.client.batched import Batched
from fedclade.client.devices import DeviceChoice
from fedclade.client.evaluation_cache import EvaluationCache
from fedclade.client.examples import data_for
from fedclade.client.general import PathChoice, Training
from fedclade.client.handlers import HANDLERS, ReplyContent, training_order
from fedclade.client.plan import TrainingPath, choose_path, training_needs_general
from fedclade.core import ClientId, InputError, Round
from fedclade.core.task import Labels, Task
from fedclade.data import ClientData, Part, Pool
from fedclade.nets import Net
from fedclade.nets.blind import Blind, secret
from fedclade.wire import Reply
from fedclade.wire.message import AnyRequest
from fedclade.wire.verbs import TRAINING, TrainFields

ClientDataAt: TypeAlias = Callable[[ClientId, int], ClientData]
"""What a client holds in a round."""


class Client:
    """Answers for any client, given its data; keeps one module and fills it with each model in turn."""

    def __init__(self, net: Net, path: PathChoice = "auto", device: DeviceChoice = "cpu") -> None:
        self._net, self._device = net, device
        self.path = choose_path(net, path, device)
        """How it trains: see `fedclade.client.plan`."""
        self.evaluate = EvaluationCache(self.path.evaluate)
        self._blinds: dict[int, Blind] = {}

    @property
    def task(self) -> Task:
        """What is learned."""
        return self._net.task

    @cached_property
    def _general(self) -> TrainingPath:
        """The one path that knows every setting, and that can leave dropout out."""
        return choose_path(self._net, "general", self._device)

    def path_for(self, now: Round) -> TrainingPath:
        """How it trains in this round."""
        return self.path if now.dropout and not training_needs_general(now.local) else self._general

    def answer(self, request: AnyRequest, data: ClientData) -> Reply:
        """The reply of one client. An exception here is a bug, or a client that fails: the transport decides which."""
        try:
            usable = data_for(request.verb.name, data, request.now, request.client)
            return self._reply(request, HANDLERS[request.verb.name](self, self._unblind(request), usable))
        except InputError as error:
            where = f'client "{request.client}", {error.where}'
            raise InputError(error.what, where=where, got=error.got, need=error.need, do=error.do) from error

    def answer_all(self, requests: Sequence[AnyRequest], held: ClientDataAt) -> list[Reply]:
        """The replies of several clients: the same as one by one, but trained at once where that is faster."""
        if isinstance(self.path, Batched) and all(
            request.verb.name in TRAINING and not is_tuning(request) and self.path_for(request.now) is self.path
            for request in requests
        ):
            return self._train_together(self.path, requests, held)
        replies: list[Reply] = []
        for request in requests:  # a comprehension would be one more frame in every traceback
            replies.append(self.answer(request, held(request.client, request.now.number)))
        return replies

    def warm_up(self, inputs: NDArray[np.generic]) -> None:
        """Train once on two examples like these, so that the first client waits for nothing that is made once."""
        pool = Pool(np.zeros_like(inputs, shape=(2, *inputs.shape[1:])), some_labels(self._net.task, 2))
        alike = Part(pool, np.arange(2))
        with suppress(Exception):  # what is wrong with the module shows when a client answers
            self.path.train(Training(self._net.initial_row(0), alike, Round(0, 0), "nobody"))

    def _train_together(self, path: Batched, requests: Sequence[AnyRequest], held: ClientDataAt) -> list[Reply]:
        orders = []
        for request in requests:
            data = data_for(request.verb.name, held(request.client, request.now.number), request.now, request.client)
            orders.append(training_order(self, self._unblind(request), data))
        found = path.train_all([order.training for order in orders])
        return [
            self._reply(request, order.reply(trained))
            for request, order, trained in zip(requests, orders, found, strict=True)
        ]

    def _reply(self, request: AnyRequest, content: ReplyContent) -> Reply:
        """The reply, with its model in the secret order if the run is blind."""
        examples, arrays = content
        if "row" in arrays and is_blind(request):
            arrays = {**arrays, "row": self._blind(request.now).hide(np.asarray(arrays["row"], np.float32))}
        return Reply(request.verb.name, request.client, request.now.number, examples, arrays)

    def _unblind(self, request: AnyRequest) -> AnyRequest:
        """The request with its models as they are, if they came in the secret order."""
        if not is_blind(request) or not request.rows.size:
            return request
        return replace(request, rows=self._blind(request.now).reveal(request.rows))

    def _blind(self, now: Round) -> Blind:
        if now.seed not in self._blinds:
            self._blinds = {now.seed: Blind(self._net, now.seed, secret())}
        return self._blinds[now.seed]


def some_labels(task: Task, count: int) -> Labels:
    """So many labels of the form that a task has."""
    if task.labels == "flags":
        return np.zeros((count, task.count), np.uint8)
    return np.zeros(count, np.float32 if task.labels == "number" else np.int64)


def is_blind(request: AnyRequest) -> bool:
    """Whether models of the net travel in a secret order; an encoder is no secret."""
    return request.now.local.blind and request.verb.row_kind == "models" and not is_tuning(request)


def is_tuning(request: AnyRequest) -> bool:
    """Whether an encoder is trained in the place of the net."""
    return isinstance(request.fields, TrainFields) and request.fields.encoder != ""
