"""The convolution path: a step written by hand for convolutions with linear layers behind them, without a graph.

Convolutions are torch's; ReLU with pooling, and the linear layers with their step, are the kernel's. The factor of a
step goes through the backward pass, so that what comes out of it is added to the weights as it is.
"""

import ctypes
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from fedclade.client.general import General, PathName, RowAndLoss, Training
from fedclade.client.kernel import NO_MEMORY, CNet, CRule, CState, Library, aligned_copy, check_memory
from fedclade.client.stack import (
    Stack,
    flatten_layers,
    is_flatten,
    is_plain,
    labels_fit,
    linear_layers,
    starts_at,
    starts_of,
)
from fedclade.core import Round, Row, Rows
from fedclade.core.evaluation import Evaluation
from fedclade.data import Part
from fedclade.nets import Net

convolution_backward = torch.ops.aten.convolution_backward


@dataclass(frozen=True)
class Block:
    """A convolution, and whether ReLU and 2 x 2 max-pooling are behind it."""

    shape: tuple[int, int, int, int]
    """Of its weights: channels out, channels in, height, width."""
    weight: int
    bias: int | None
    stride: tuple[int, int]
    padding: tuple[int, int]
    relu: bool = False
    pools: bool = False

    @property
    def one_channel(self) -> bool:
        """Whether it is faster as a product: torch's convolutions are slow where there is one channel to read."""
        return self.shape[1] == 1 and self.stride == (1, 1)


@dataclass(frozen=True)
class ConvolutionalNet:
    """A net of such blocks, with a stack of linear layers behind them."""

    blocks: tuple[Block, ...]
    head: Stack
    head_start: int
    """Where the head begins in a row."""

    def can_read(self, part: Part) -> bool:
        """Whether these examples are images of the right size, with labels that the net has outputs for."""
        stored = part.pool.inputs
        if stored.dtype == np.int32 or stored.ndim != 4 or stored.shape[1] != self.blocks[0].shape[1]:
            return False
        turned = stored.shape[2:] if part.quarter_turns % 2 == 0 else stored.shape[:1:-1]
        sides = np.array(turned)
        for each in self.blocks:
            sides = (sides + 2 * np.array(each.padding) - each.shape[2:]) // each.stride + 1
            sides = sides // 2 if each.pools else sides
        fits = int(np.prod(sides)) * self.blocks[-1].shape[0] == self.head.features and int(sides.min()) > 0
        return fits and labels_fit(part, self.head.classes)


def convolutional_net_of(net: Net) -> ConvolutionalNet | None:
    """The net as blocks and a stack; None if it is something else."""
    module = net.initial_module(0)
    layers = list(flatten_layers(module))
    places = [number for number, layer in enumerate(layers) if is_flatten(layer)]
    if not places or not is_plain(module):
        return None
    blocks: list[Block] = []
    starts, cut = starts_of(net, module), 0
    for layer in layers[: places[0]]:
        if type(layer) is nn.Conv2d:
            made = block_of(layer, starts, cut)
            if made is None:
                return None
            blocks.append(made)
            cut += made.shape[0] * (made.shape[1] * made.shape[2] * made.shape[3] + (made.bias is not None))
        elif blocks and type(layer) is nn.ReLU and not blocks[-1].relu:  # in front of pooling or behind it: the same
            blocks[-1] = replace(blocks[-1], relu=True)
        elif blocks and is_max_pooling(layer) and not blocks[-1].pools:
            blocks[-1] = replace(blocks[-1], pools=True)
        else:
            return None
    head = linear_layers(net, starts, layers[places[0] + 1 :], flattens=True, start=cut)
    known = blocks and all(each.relu for each in blocks) and head is not None and not head.layers[0].dropout
    return ConvolutionalNet(tuple(blocks), head, cut) if known and head is not None else None


def block_of(layer: nn.Conv2d, starts: dict[int, int], place: int) -> Block | None:
    """A convolution whose weights stand at this place of a row; None if it is of another kind."""
    if not starts_at(layer.weight, starts, place) or not starts_at(layer.bias, starts, place + layer.weight.numel()):
        return None
    plain = layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"
    if not plain or isinstance(layer.padding, str):
        return None
    shape = (layer.out_channels, layer.in_channels, layer.kernel_size[0], layer.kernel_size[1])
    if tuple(layer.weight.shape) != shape:
        return None
    bias = None if layer.bias is None else place + layer.weight.numel()
    rows, columns = layer.padding
    return Block(shape, place, bias, (layer.stride[0], layer.stride[1]), (rows, columns))


def is_max_pooling(layer: nn.Module) -> bool:
    """Whether it is 2 x 2 max-pooling."""
    if type(layer) is not nn.MaxPool2d or layer.ceil_mode or layer.return_indices:
        return False
    form = ((layer.kernel_size, 2), (layer.stride, 2), (layer.padding, 0), (layer.dilation, 1))
    return all(value in (wanted, (wanted, wanted)) for value, wanted in form)


def windows(inputs: Tensor, each: Block) -> Tensor:
    """What each place of a convolution of one channel sees: (examples, height * width of it, places)."""
    rows, columns = each.padding
    framed = pad(inputs, (columns, columns, rows, rows))
    seen = framed.unfold(2, each.shape[2], 1).unfold(3, each.shape[3], 1)  # (examples, 1, rows, columns, height, width)
    return seen.permute(0, 1, 4, 5, 2, 3).reshape(len(inputs), each.shape[2] * each.shape[3], -1)


def product(each: Block, weight: Tensor, bias: Tensor | None, seen: Tensor, inputs: Tensor) -> Tensor:
    """The convolution as a product with what its places see."""
    height = inputs.shape[2] + 2 * each.padding[0] - each.shape[2] + 1
    spread = weight.view(1, each.shape[0], -1).expand(len(seen), -1, -1)
    made = torch.bmm(spread, seen) if bias is None else torch.baddbmm(bias[None, :, None], spread, seen)
    return made.view(len(seen), each.shape[0], height, -1)


class Convolution:
    """The path of such nets, one client a call."""

    name: PathName = "convolution"
    clients_at_once = 1

    def __init__(self, form: ConvolutionalNet, functions: Library, general: General) -> None:
        self._form, self._library, self._general = form, functions, general

    def train(self, asked: Training) -> RowAndLoss:
        part, now, client = asked.part, asked.now, asked.client
        if not self._form.can_read(part):
            return self._general.train(asked)
        how, drops = now.local, self._form.head.has_dropout
        start, anchor = self._general.checked_row(asked.start), self._general.checked_row(asked.anchor)
        learner = Learner(self._form, self._library, start, anchor, now)
        inputs, labels = torch.from_numpy(part.inputs), part.labels
        totals, sizes = list[float](), list[int]()
        with torch.no_grad(), self._general.use_client_seed(now, client):
            for order in asked.orders():
                total = 0.0
                for first in range(0, len(order), how.batch):
                    chosen = order[first : first + how.batch]
                    masks = self._form.head.masks(len(chosen), len(chosen)) if drops else None
                    total += learner.step(inputs[torch.from_numpy(chosen)], labels[chosen], masks)
                totals.append(total)
                sizes.append(len(order))
        return learner.row, asked.mean_loss(totals, sizes)

    def evaluate(self, row: Row, part: Part) -> Evaluation:
        return self._general.evaluate(row, part)

    def losses(self, rows: Rows, part: Part) -> NDArray[np.float64]:
        return self._general.losses(rows, part)


class Learner:
    """One client's model while it is trained."""

    def __init__(self, form: ConvolutionalNet, functions: Library, start: Row, anchor: Row, now: Round) -> None:
        self._form, self._library, self._now = form, functions, now
        self._kept = anchor  # the kernel reads it where it stands
        self.row = aligned_copy(start)
        self._velocity = aligned_copy(np.zeros_like(start)) if now.local.sgd.momentum else None
        self._net, self._rule = CNet.of(form.head), CRule.of(now)
        self._state = CState.of(self.row, self._velocity, anchor)
        self._weights = torch.from_numpy(self.row[: form.head_start])
        self._anchor = torch.from_numpy(anchor[: form.head_start].copy())
        self._gradient = torch.zeros(form.head_start)
        self._pieces = [self._views(each) for each in form.blocks]

    def _views(self, each: Block) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
        """A block's weights and bias, and where their gradients go."""
        size = each.shape[0] * each.shape[1] * each.shape[2] * each.shape[3]
        both = (self._weights, self._gradient)
        weight, towards = (whole[each.weight : each.weight + size].view(each.shape) for whole in both)
        if each.bias is None:
            return weight, None, towards, None
        bias, towards_bias = (whole[each.bias : each.bias + each.shape[0]] for whole in both)
        return weight, bias, towards, towards_bias

    def step(self, inputs: Tensor, labels: NDArray[np.int64], masks: NDArray[np.int32] | None) -> float:
        """One step of SGD; the sum of the examples' losses."""
        read, made, kept = [inputs], [], []  # what each block reads and makes, and the winners where it pools
        for number, (each, (weight, bias, _, _)) in enumerate(zip(self._form.blocks, self._pieces, strict=True)):
            if number == 0 and each.one_channel:
                read[0] = windows(inputs, each)
                made.append(product(each, weight, bias, read[0], inputs))
            else:
                made.append(conv2d(read[-1], weight, bias, each.stride, each.padding).contiguous())
            output, winners = self._pool(made[-1]) if each.pools else (made[-1].relu_(), made[-1])
            read.append(output)
            kept.append(winners)
        features = read.pop()
        slopes = torch.empty_like(features)
        loss: float = self._library.head(
            *(ctypes.byref(each) for each in (self._net, self._rule, self._state)),
            *(features.data_ptr(), labels.ctypes.data, len(labels)),
            *(None if masks is None else masks.ctypes.data, slopes.data_ptr()),
        )
        check_memory(loss != NO_MEMORY)
        for number in reversed(range(len(read))):
            if self._form.blocks[number].pools:
                slopes = self._pool_back(slopes, kept[number], made[number])
            else:
                slopes.mul_(kept[number] > 0)
            slopes = self._back(number, read[number], slopes)
        self._apply()
        return loss

    def _back(self, number: int, read: Tensor, slopes: Tensor) -> Tensor:
        """Puts a convolution's gradient in its place; the one for what comes before it, if anything does."""
        each, (weight, _, towards, towards_bias) = self._form.blocks[number], self._pieces[number]
        if number == 0 and each.one_channel:
            flat_slopes = slopes.flatten(2)
            torch.sum(torch.bmm(flat_slopes, read.transpose(1, 2)), dim=0, out=towards.view(each.shape[0], -1))
            if towards_bias is not None:
                torch.sum(flat_slopes, dim=(0, 2), out=towards_bias)
            return slopes
        bias_sizes, wanted = (
            None if towards_bias is None else [each.shape[0]],
            [number > 0, True, towards_bias is not None],
        )
        plain = ([1, 1], False, [0, 0], 1)  # dilation, transposed, output padding, groups
        inward, found, found_bias = convolution_backward(
            slopes, read, weight, bias_sizes, each.stride, each.padding, *plain, wanted
        )
        towards.copy_(found)
        if towards_bias is not None:
            towards_bias.copy_(found_bias)
        return inward.contiguous() if number else slopes

    def _pool(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """ReLU and pooling, and which of four won everywhere."""
        examples, channels, *sides = inputs.shape
        outputs = torch.empty(examples, channels, sides[0] // 2, sides[1] // 2)
        winners = torch.empty(outputs.shape, dtype=torch.int32)
        self._library.pool(inputs.data_ptr(), outputs.data_ptr(), winners.data_ptr(), examples * channels, *sides)
        return outputs, winners

    def _pool_back(self, slopes: Tensor, winners: Tensor, before: Tensor) -> Tensor:
        """The gradient in front of pooling: it goes to the winners."""
        examples, channels, *sides = before.shape
        inward = torch.empty_like(before)
        self._library.pool_back(slopes.data_ptr(), winners.data_ptr(), inward.data_ptr(), examples * channels, *sides)
        return inward

    def _apply(self) -> None:
        """The step on all convolutions."""
        lr, sgd, weights = self._now.local.lr, self._now.local.sgd, self._weights
        pull = torch.zeros(()) if not sgd.weight_decay else weights * sgd.weight_decay
        if self._now.proximal:
            pull = pull + (weights - self._anchor) * self._now.proximal
        if self._velocity is None:
            weights.add_(self._gradient).sub_(pull, alpha=lr)
        else:
            velocity = torch.from_numpy(self._velocity[: self._form.head_start])
            weights.sub_(velocity.mul_(sgd.momentum).add_(pull).add_(self._gradient), alpha=lr)
