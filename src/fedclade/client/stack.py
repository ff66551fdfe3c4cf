"""A stack: linear layers, each with ReLU and dropout or without, cross-entropy behind. MLPs and logistic regression."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.modules.module import _has_any_global_hook

from fedclade.core import Row
from fedclade.core.evaluation import Evaluation
from fedclade.core.task import Task
from fedclade.data import Part
from fedclade.nets import Net
from fedclade.nets.losses import evaluate_outputs

MAX_LAYERS = 32  # as the kernel has it
HOOKS = (
    *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
    *("_post_accumulate_grad_hooks", "parametrizations"),
)


@dataclass(frozen=True)
class Layer:
    """One linear layer, and where its numbers stand in a row."""

    inputs: int
    outputs: int
    weight: int
    bias: int | None
    relu: bool
    """Whether ReLU is behind it."""
    dropout: float
    """The share of its inputs that is left out in training."""


@dataclass(frozen=True)
class Stack:
    """A net that is nothing but such layers."""

    layers: tuple[Layer, ...]
    flattens: bool
    """Whether it reads inputs of any shape."""

    @property
    def features(self) -> int:
        return self.layers[0].inputs

    @property
    def classes(self) -> int:
        return self.layers[-1].outputs

    @property
    def has_dropout(self) -> bool:
        return any(layer.dropout for layer in self.layers)

    def can_read(self, part: Part) -> bool:
        """Whether these examples are numbers of the right form, with labels that the net has outputs for."""
        shape = part.pool.inputs.shape[1:]
        return (
            part.pool.inputs.dtype != np.int32
            and prod(shape) == self.features
            and (self.flattens or len(shape) == 1)
            and labels_fit(part, self.classes)
        )

    def outputs(self, row: Row, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """(examples, classes): what a model gives for these inputs, (examples, features)."""
        units = inputs
        for layer in self.layers:
            weight = row[layer.weight : layer.weight + layer.inputs * layer.outputs]
            units = units @ weight.reshape(layer.outputs, layer.inputs).T
            if layer.bias is not None:
                units += row[layer.bias : layer.bias + layer.outputs]
            if layer.relu:
                np.maximum(units, 0, out=units)
        return units

    def evaluate(self, row: Row, part: Part, task: Task) -> Evaluation:
        """How a model does on these examples."""
        inputs = np.asarray(part.inputs, np.float32)
        outputs = self.outputs(row, inputs.reshape(len(inputs), -1))
        wanted = torch.from_numpy(part.labels)
        return evaluate_outputs(task, None, torch.from_numpy(outputs), wanted, torch.from_numpy(inputs))

    def masks(self, examples: int, batch: int) -> NDArray[np.int32]:
        """What dropout leaves in one epoch, 0 or 1: batch by batch, in each the layers in their order.

        Drawn by the calls that torch's own dropout makes, so that the numbers are the same ones.
        """
        sizes = [min(batch, examples - first) for first in range(0, examples, batch)]
        drawn = [(layer.inputs, 1 - layer.dropout) for layer in self.layers if layer.dropout]
        made = torch.empty(examples * sum(width for width, _ in drawn), dtype=torch.int32)
        pieces = torch.split(made, [size * width for size in sizes for width, _ in drawn])
        for number, piece in enumerate(pieces):
            piece.bernoulli_(drawn[number % len(drawn)][1])
        return made.numpy()


def labels_fit(part: Part, classes: int) -> bool:
    """Whether labels are whole numbers that the net has outputs for, and positions those of examples."""
    labels, index = part.labels, part.index
    return (
        labels.dtype == np.int64
        and index.dtype == np.int64
        and int(labels.min()) >= 0
        and int(labels.max()) < classes
        and int(index.min()) >= 0
        and int(index.max()) < len(part.pool.inputs)
    )


def flatten_layers(module: nn.Module) -> Iterator[nn.Module]:
    """The layers of a module in the order that they are applied, as far as it is made of nn.Sequential only."""
    if type(module) is nn.Sequential:
        for child in module:
            yield from flatten_layers(child)
    elif type(module) is not nn.Identity:
        yield module


def is_plain(module: nn.Module) -> bool:
    """Whether the module and its parameters have no hook or change that a hand-written step would miss."""
    return not (
        _has_any_global_hook()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        or any(getattr(each, hook, None) for each in (*module.modules(), *module.parameters()) for hook in HOOKS)
        or any(callable(own) for each in module.modules() for own in vars(each).values())  # its own forward, for one
        or any(type(parameter) is not nn.Parameter for parameter in module.parameters())
    )


def starts_of(net: Net, module: nn.Module) -> dict[int, int]:
    """Where each parameter of the module, by its identity, begins in a row of the net."""
    named = {piece.name: piece.start for piece in net.pieces}
    return {id(parameter): named[name] for name, parameter in module.named_parameters()}


def stack_of(net: Net) -> Stack | None:
    """The net as a stack; None if it is something else."""
    module = net.initial_module(0)
    layers = list(flatten_layers(module))
    flattens = bool(layers) and is_flatten(layers[0])
    return linear_layers(net, starts_of(net, module), layers[flattens:], flattens) if is_plain(module) else None


def is_flatten(module: nn.Module) -> bool:
    return type(module) is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1)


def starts_at(parameter: torch.Tensor | None, starts: dict[int, int], place: int) -> bool:
    """Whether a layer's tensor, if it has one, begins here in a row: one that is tied to an earlier one does not."""
    return parameter is None or (parameter.numel() > 0 and starts.get(id(parameter)) == place)


def linear_layers(
    net: Net, starts: dict[int, int], modules: list[nn.Module], flattens: bool, start: int = 0
) -> Stack | None:
    """These modules as a stack, if they are one and their tensors are the rest of a row from `start` on."""
    layers: list[Layer] = []
    dropout, place = 0.0, start
    for module in modules:
        if type(module) is nn.Linear:
            form = (module.out_features, module.in_features)
            if (layers and module.in_features != layers[-1].outputs) or module.weight.shape != form:
                return None
            weights = module.in_features * module.out_features
            if not starts_at(module.weight, starts, place) or not starts_at(module.bias, starts, place + weights):
                return None
            bias = None if module.bias is None else place + weights
            layers.append(Layer(module.in_features, module.out_features, place, bias, False, dropout))
            place += weights + (0 if bias is None else module.out_features)
            dropout = 0.0
        elif type(module) is nn.ReLU and layers and not layers[-1].relu:
            # ReLU and dropout may change places: both are a factor of 0 or more on each unit.
            layers[-1] = Layer(**{**vars(layers[-1]), "relu": True})
        elif type(module) is nn.Dropout and not dropout and 0 <= module.p < 1:
            dropout = module.p
        elif not (is_flatten(module) and layers):
            return None
    # A frozen tensor, a buffer, or a tensor beside the layers: the row would be another.
    whole = place == net.size == net.trained_size and all(piece.is_trained for piece in net.pieces)
    fits = whole and 0 < len(layers) <= MAX_LAYERS and not dropout and not layers[-1].relu
    return Stack(tuple(layers), flattens) if fits else None
