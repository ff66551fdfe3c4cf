"""The general path: any module, by torch's autograd, one client after another. What every other path must agree with.

Local training takes steps on batches of the client's own examples, in an order that (seed, round, client) fixes.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedclade.client.devices import Device
from fedclade.client.examples import orders
from fedclade.client.flat_module import FlatModule
from fedclade.client.optimizers import Steps
from fedclade.core import ClientId, Round, Row, Rows
from fedclade.core.evaluation import Evaluation
from fedclade.data import Part
from fedclade.nets import Net
from fedclade.nets.losses import (
    LanguageModel,
    evaluate_outputs,
    evaluate_words,
    mean_loss,
    outputs_and_labels,
    total_weight,
)

PathName = Literal["kernel", "batched", "convolution", "general"]
PathChoice = Literal["auto", "general"]
"""What `engine.path` may say."""
RowAndLoss: TypeAlias = tuple[Row, float]
"""A trained model, and the mean loss of its last epoch, or of its steps."""

EVALUATED_EXAMPLES = 1000  # examples in one forward pass
EVALUATED_TEXTS = 100  # the same of a language model, which has outputs for every word
GRADIENT_PIECE = 200  # examples in one backward pass of a full gradient: faster than all at once, in little memory


@dataclass(frozen=True, eq=False)
class Training:
    """One client that is to train."""

    start: Row
    part: Part
    now: Round
    client: ClientId
    towards: Row | None = None
    """The model that `now.proximal` pulls to; None: the start."""
    class_weights: NDArray[np.float32] | None = None
    """How much an example of each class counts, (classes,); None: all alike."""

    @property
    def anchor(self) -> Row:
        return self.start if self.towards is None else self.towards

    @property
    def width(self) -> int:
        """Examples in its longest batch."""
        return min(self.now.local.batch, len(self.part))

    @property
    def steps(self) -> int:
        return self.now.local.steps or self.now.local.epochs * -(-len(self.part) // self.width)

    def orders(self) -> Iterator[NDArray[np.int64]]:
        """The places of its examples in the order of training, one array after another: see `orders`."""
        return orders(len(self.part), self.now, self.client)

    def mean_loss(self, totals: Sequence[float], sizes: Sequence[int]) -> float:
        """The loss to report, from each order's sum of losses and its size: of the last epoch, or of all steps."""
        if self.now.local.steps:
            return sum(totals) / sum(sizes)
        return totals[-1] / sizes[-1]


class General:
    """The path that any net can take; the others send to it what they cannot do."""

    name: PathName = "general"
    clients_at_once = 1

    def __init__(self, net: Net, device: Device = "cpu") -> None:
        self.net, self.device = net, device

    @cached_property
    def _flat_module(self) -> FlatModule:
        """Made when it is needed, so that a graphics card is opened by the process that uses it."""
        return FlatModule(self.net, self.device)

    def train(self, asked: Training) -> RowAndLoss:
        flat, now, part = self._flat_module, asked.now, asked.part
        flat.load(asked.start)
        flat.module.train(now.dropout)
        inputs, labels = self._to_device(part.inputs), self._to_device(part.labels)
        class_weights = None if asked.class_weights is None else self._to_device(asked.class_weights)
        anchor = self._to_device(self.checked_row(asked.anchor)[: len(flat.weights)].copy())
        steps = Steps(now, flat.weights, flat.gradient, anchor)
        totals, sizes = list[float](), list[int]()
        with self.use_client_seed(now, asked.client):
            for order in asked.orders():
                total = 0.0
                for chosen in torch.split(self._to_device(order), now.local.batch):
                    # Without dropout a module is in evaluation mode, and no example changes what another one gives.
                    pieces = (chosen,) if now.dropout else torch.split(chosen, GRADIENT_PIECE)
                    loss = self.put_gradient(((inputs[piece], labels[piece]) for piece in pieces), class_weights)
                    if loss is None:
                        continue
                    total += loss * len(chosen)
                    with torch.no_grad():
                        steps.take()
                totals.append(total)
                sizes.append(len(order))
        return flat.unload(), asked.mean_loss(totals, sizes)

    def put_gradient(
        self, pieces: Iterable[tuple[Tensor, Tensor]], class_weights: Tensor | None = None
    ) -> float | None:
        """Put the gradient of the mean loss over all pieces, inputs and labels, in its place; the loss, if any.

        The mean is taken piece by piece, each weighted by its targets, so that one piece at a time is in memory.
        """
        flat, task = self._flat_module, self.net.task
        flat.gradient.zero_()
        mean, seen = 0.0, 0.0
        for some, labels in pieces:
            given, wanted = outputs_and_labels(flat.module, some, labels)
            if not len(wanted):  # texts without a next word: there is no mean loss of nothing
                continue
            loss = mean_loss(task, self.net.own_task, given, wanted, some, class_weights)
            weight = total_weight(task, wanted, class_weights)
            seen += weight
            share = weight / seen  # 1 for the first: one piece is what it is, to the bit
            flat.gradient.mul_(1 - share)
            (loss * share).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            mean += (loss.item() - mean) * share
        return mean if seen else None

    def evaluate(self, row: Row, part: Part) -> Evaluation:
        """How a model does on these examples."""
        module, task, own = self._flat_module.module, self.net.task, self.net.own_task
        self._flat_module.load(row)
        module.eval()
        inputs, labels = self._to_device(part.inputs), torch.from_numpy(part.labels)
        # A seed, since a module may draw numbers here too (a dropout that does not ask whether it is trained).
        with self.net.use_seed(0), torch.inference_mode():
            if isinstance(module, LanguageModel):
                return evaluate_texts(module, inputs, labels)
            outputs = torch.cat([module(some).cpu() for some in torch.split(inputs, EVALUATED_EXAMPLES)])
            return evaluate_outputs(task, own, outputs, labels, inputs.cpu())

    def losses(self, rows: Rows, part: Part) -> NDArray[np.float64]:
        return np.array([self.evaluate(row, part).loss for row in rows], np.float64)

    @contextmanager
    def use_client_seed(self, now: Round, client: ClientId) -> Iterator[None]:
        """Inside, a module draws what belongs to this client in this round: dropped units."""
        seed = dropout_seed(now, client)
        with self.net.use_seed(seed):
            if self.device == "cuda":  # a card has a generator of its own
                torch.cuda.manual_seed(seed)
            yield

    def _to_device(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def checked_row(self, row: Row) -> Row:
        """The row, in one piece; an error unless it is one of this net."""
        self.net.check_row(row)
        return np.ascontiguousarray(row, np.float32)


def evaluate_texts(module: LanguageModel, inputs: Tensor, labels: Tensor) -> Evaluation:
    """How a language model does on these texts, some of them at a time: it has outputs for every word."""
    right, words, loss = 0, 0, 0.0
    for some, wanted in zip(torch.split(inputs, EVALUATED_TEXTS), torch.split(labels, EVALUATED_TEXTS), strict=True):
        logits, follows = outputs_and_labels(module, some, wanted)
        right += int((logits.argmax(dim=1) == follows).sum())
        words += len(follows)
        loss += float(cross_entropy(logits, follows, reduction="sum"))
    return evaluate_words(right, words, loss, len(inputs))


def dropout_seed(now: Round, client: ClientId) -> int:
    """What torch's generator starts from when this client trains in this round."""
    return int(now.generator("dropout", client).integers(2**62))
