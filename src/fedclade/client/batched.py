"""The batched path: a step of several clients at once, as batched products on their stacked weights.

For stacks where no kernel is built. Each client has its own slice of every product. Layers are filled up to whole cache
lines and batches to the client's own longest one, so a slice has the same form and begins with a line wherever it
stands: a product rounds by both, and a client's result has the same bits whichever clients stand beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedclade.client.general import General, PathName, RowAndLoss, Training, dropout_seed
from fedclade.client.stack import Layer, Stack
from fedclade.core import Round, Row, Rows
from fedclade.core.evaluation import Evaluation
from fedclade.data import Part

LINE_FLOATS = 16  # numbers in a cache line
MIN_BATCH = 2  # examples in a batch at the least, filled up: a product with one row is another one
SCORE_BATCH = 4000  # examples in one forward pass


@dataclass(frozen=True, eq=False)
class StackedLayer:
    """One layer of several models: weights (models, outputs, inputs), bias (models, 1, outputs)."""

    layer: Layer
    weight: Tensor
    bias: Tensor | None

    def first(self, count: int) -> "StackedLayer":
        """The same of the first models."""
        return StackedLayer(self.layer, self.weight[:count], None if self.bias is None else self.bias[:count])

    def forward(self, inputs: Tensor) -> Tensor:
        """(models, examples, inputs) -> (models, examples, outputs), without ReLU."""
        if self.bias is None:
            return torch.bmm(inputs, self.weight.transpose(1, 2))
        return torch.baddbmm(self.bias, inputs, self.weight.transpose(1, 2))

    def add(self, slopes: Tensor, inputs: Tensor) -> None:
        """The gradient of a batch, in place."""
        self.weight.baddbmm_(slopes.transpose(1, 2), inputs)
        if self.bias is not None:
            self.bias.add_(slopes.sum(dim=1, keepdim=True))


class StackedModels:
    """Several models of one stack, in memory that is one tensor; layers are filled up with zeros, which stay zeros."""

    def __init__(self, stack: Stack, rows: Sequence[Row]) -> None:
        models = len(rows)
        sizes = [(whole_lines(layer.outputs), whole_lines(layer.inputs)) for layer in stack.layers]
        self.whole = torch.zeros(models, sum(outputs * (inputs + 1) for outputs, inputs in sizes))
        self.layers: list[StackedLayer] = []
        end = 0
        for layer, (outputs, inputs) in zip(stack.layers, sizes, strict=True):
            weight = self.whole[:, end : end + outputs * inputs].view(models, outputs, inputs)
            end += outputs * inputs
            bias = self.whole[:, end : end + outputs].view(models, 1, outputs)
            end += outputs
            self.layers.append(StackedLayer(layer, weight, None if layer.bias is None else bias))
        for number, row in enumerate(rows):
            given = torch.from_numpy(row.copy())
            for place, here in self._places(number):
                here[:] = given[place : place + here.numel()].view(here.shape)

    def unload(self, number: int) -> Row:
        """A model as a row of its own."""
        places = list(self._places(number))
        row = torch.empty(sum(here.numel() for _, here in places))
        for place, here in places:
            row[place : place + here.numel()] = here.reshape(-1)
        made: Row = row.numpy()
        return made

    def _places(self, number: int) -> Iterator[tuple[int, Tensor]]:
        """Where each tensor of a model begins in a row, and where it is here, without what fills it up."""
        for piece in self.layers:
            layer = piece.layer
            yield layer.weight, piece.weight[number, : layer.outputs, : layer.inputs]
            if layer.bias is not None and piece.bias is not None:
                yield layer.bias, piece.bias[number, 0, : layer.outputs]


def whole_lines(features: int) -> int:
    """So many numbers, filled up to whole cache lines."""
    return -(-features // LINE_FLOATS) * LINE_FLOATS


def pad_to_lines(inputs: Tensor) -> Tensor:
    """(examples, features), filled up to whole cache lines with zeros."""
    return torch.nn.functional.pad(inputs, (0, whole_lines(inputs.shape[1]) - inputs.shape[1]))


class ClientBatch:
    """Clients that train side by side: equally long batches, one way to train, those with the most steps first."""

    def __init__(self, stack: Stack, asked: Sequence[Training]) -> None:
        self.asked, self.now, self.width = asked, asked[0].now, max(asked[0].width, MIN_BATCH)
        self._classes = stack.classes
        lr, momentum = self.now.local.lr, self.now.local.sgd.momentum
        self.models = StackedModels(stack, [each.start for each in asked])
        anchors = StackedModels(stack, [each.anchor for each in asked]) if self.now.proximal else None
        self._anchor = None if anchors is None else anchors.whole
        self._velocity = StackedModels(stack, [np.zeros_like(each.start) for each in asked]) if momentum else None
        flat = [torch.from_numpy(each.part.inputs).reshape(len(each.part), -1) for each in asked]
        self._inputs = pad_to_lines(torch.cat(flat))
        self._labels = torch.cat([torch.from_numpy(each.part.labels) for each in asked])
        self._places, self._sizes = batches(asked, self.width)
        # The share of each example in its batch's step; 0 where a short batch is filled up.
        share = (1.0 if momentum else -lr) / self._sizes.clamp(min=1)
        self._shares = (torch.arange(self.width) < self._sizes[:, :, None]) * share[:, :, None]
        self._losses = torch.zeros(self._places.shape)
        self._generators = [torch.Generator().manual_seed(dropout_seed(each.now, each.client)) for each in asked]
        self._masks = [
            torch.zeros(len(asked), self.width, whole_lines(layer.inputs)) if layer.dropout else None
            for layer in stack.layers
        ]

    def train(self) -> list[RowAndLoss]:
        """What each of them ends with."""
        for step, sizes in enumerate(self._sizes.tolist()):
            self._step(step, [size for size in sizes if size])
        return [(self.models.unload(number), self._loss(number)) for number in range(len(self.asked))]

    def _step(self, step: int, sizes: list[int]) -> None:
        """One step of the clients that still have one."""
        count = len(sizes)
        here = self._places[step, :count].reshape(-1)
        pieces = [piece.first(count) for piece in self.models.layers]
        masks = [None if mask is None else mask[:count] for mask in self._masks]
        self._draw(sizes, pieces)
        units = [self._inputs[here].view(count, self.width, -1)]  # what each layer reads
        for piece, mask in zip(pieces, masks, strict=True):
            if mask is not None:
                units[-1].mul_(mask)
            units.append(piece.forward(units[-1]))
            if piece.layer.relu:
                units[-1].relu_()
        wanted = self._labels[here].view(count, self.width, 1)
        logits = units.pop()
        likely = torch.log_softmax(logits[:, :, : self._classes], dim=2)
        self._losses[step, :count] = -likely.gather(2, wanted)[:, :, 0]
        likely.exp_().scatter_add_(2, wanted, torch.full_like(wanted, -1, dtype=torch.float32))
        slopes = logits.zero_()
        slopes[:, :, : self._classes] = likely.mul_(self._shares[step, :count, :, None])
        steps = [slopes]  # the gradient behind each layer, from the last to the first
        for number in reversed(range(1, len(pieces))):
            steps.append(torch.bmm(steps[-1], pieces[number].weight))
            if pieces[number - 1].layer.relu:
                steps[-1].mul_(units[number] > 0)
            if (mask := masks[number]) is not None:
                steps[-1].mul_(mask)
        self._pull(count)
        for piece, gradient, read in zip((self._velocity or self.models).layers, reversed(steps), units, strict=True):
            piece.first(count).add(gradient, read)
        if self._velocity is not None:
            self.models.whole[:count].add_(self._velocity.whole[:count], alpha=-self.now.local.lr)

    def _draw(self, sizes: list[int], pieces: list[StackedLayer]) -> None:
        """What dropout leaves in this step: for each client the layers in their order, as torch draws them."""
        for number, size in enumerate(sizes):
            for mask, piece in zip(self._masks, pieces, strict=True):
                if mask is not None:
                    kept, inputs = 1 - piece.layer.dropout, piece.layer.inputs
                    drawn = torch.empty(size, inputs).bernoulli_(kept, generator=self._generators[number])
                    mask[number, :size, :inputs] = drawn.div_(kept)

    def _pull(self, count: int) -> None:
        """What a step does besides the gradient of the loss: momentum, weight decay, FedProx's term."""
        lr, sgd, weights = self.now.local.lr, self.now.local.sgd, self.models.whole[:count]
        pulls = [(weights, sgd.weight_decay)] if sgd.weight_decay else []
        if self._anchor is not None:
            pulls.append((weights - self._anchor[:count], self.now.proximal))
        if self._velocity is not None:
            velocity = self._velocity.whole[:count].mul_(sgd.momentum)
            for towards, factor in pulls:
                velocity.add_(towards, alpha=factor)
        elif pulls:
            weights.sub_(sum((towards * factor for towards, factor in pulls), start=torch.zeros(())), alpha=lr)

    def _loss(self, number: int) -> float:
        """A client's mean loss, as `Training.mean_loss` has it."""
        each, end = self.asked[number], 0
        totals, sizes = list[float](), list[int]()
        for order in each.orders():
            here = slice(end, end + -(-len(order) // each.now.local.batch))
            end = here.stop
            counted = self._shares[here, number] != 0
            totals.append(float(self._losses[here, number].double()[counted].sum()))
            sizes.append(len(order))
        return each.mean_loss(totals, sizes)


def batches(asked: Sequence[Training], padded_width: int) -> tuple[Tensor, Tensor]:
    """Which examples of all (steps, clients, room) are in which batch, and how many: (steps, clients).

    A batch that is short is filled up with the client's first example.
    """
    width = asked[0].width
    places = np.zeros((asked[0].steps, len(asked), padded_width), np.int64)
    sizes = np.zeros(places.shape[:2], np.int64)
    before = 0
    for number, each in enumerate(asked):
        places[:, number] = before
        end = 0
        for order in each.orders():
            count = len(order)
            batch_count = -(-count // width)
            filled = np.full(batch_count * width, before)
            filled[:count] = before + order
            steps = slice(end, end + batch_count)
            places[steps, number, :width] = filled.reshape(batch_count, width)
            sizes[steps, number] = width
            sizes[steps.stop - 1, number] = count - (batch_count - 1) * width
            end = steps.stop
        before += len(each.part)
    return torch.from_numpy(places), torch.from_numpy(sizes)


class Batched:
    """The path of stacks where there is no kernel."""

    name: PathName = "batched"
    clients_at_once = 5

    def __init__(self, stack: Stack, general: General) -> None:
        self._stack, self._general = stack, general

    def train(self, asked: Training) -> RowAndLoss:
        return self.train_all([asked])[0]

    def train_all(self, asked: Sequence[Training]) -> list[RowAndLoss]:
        """What each of these clients ends with, in their order."""
        found: dict[int, RowAndLoss] = {}
        alike: dict[tuple[Round, int], list[int]] = {}
        for number, each in enumerate(asked):
            if self._stack.can_read(each.part):
                self._general.checked_row(each.start)
                alike.setdefault((each.now, each.width), []).append(number)
            else:
                found[number] = self._general.train(each)
        with torch.no_grad():
            for numbers in alike.values():
                numbers.sort(key=lambda number: -asked[number].steps)
                trained = ClientBatch(self._stack, [asked[number] for number in numbers]).train()
                found.update(zip(numbers, trained, strict=True))
        return [found[number] for number in range(len(asked))]

    def evaluate(self, row: Row, part: Part) -> Evaluation:
        return self._general.evaluate(row, part)

    def losses(self, rows: Rows, part: Part) -> NDArray[np.float64]:
        """All models at once: the first layers of all of them are one product."""
        if not self._stack.can_read(part) or not len(rows):
            return self._general.losses(rows, part)
        total = torch.zeros(len(rows), dtype=torch.float64)
        inputs = pad_to_lines(torch.from_numpy(part.inputs).reshape(len(part), -1))
        labels = torch.from_numpy(part.labels)
        with torch.inference_mode():
            models = StackedModels(self._stack, [self._general.checked_row(row) for row in rows])
            for some, wanted in zip(torch.split(inputs, SCORE_BATCH), torch.split(labels, SCORE_BATCH), strict=True):
                units = some.expand(len(rows), -1, -1)
                for piece in models.layers:
                    units = piece.forward(units)
                    if piece.layer.relu:
                        units.relu_()
                units = units[:, :, : self._stack.classes]
                likely = cross_entropy(units.flatten(0, 1), wanted.repeat(len(rows)), reduction="none")
                total += likely.view(len(rows), -1).double().sum(dim=1)
        return (total / len(part)).numpy()
