"""A net: any torch module as one flat float32 row, and back.

A row holds the trainable parameters in the order of the module, then what is carried along without training: frozen
parameters and floating buffers (BatchNorm's running statistics). Whole-number buffers are not part of a model.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from fedclade.core import InputError, Row, generator
from fedclade.core.task import Labels, Task
from fedclade.nets.losses import LanguageModel
from fedclade.nets.own_task import OwnTask, check_loss

ModuleFactory = Callable[[], nn.Module]
UNKNOWN_CLASSES = Task(count=10**9)  # of a net that is used by itself


@dataclass(frozen=True)
class Piece:
    """Where one tensor of a module stands in a row."""

    name: str
    shape: tuple[int, ...]
    start: int
    stop: int
    is_trained: bool

    def __str__(self) -> str:
        """Its name and shape, `conv.weight 6x1x5x5`."""
        return f"{self.name} {'x'.join(str(side) for side in self.shape)}"


@dataclass(frozen=True)
class Net:
    """An architecture: a name, and a function that makes the module."""

    name: str
    make: ModuleFactory
    is_custom: bool = True
    """Whether it is the user's own, of which nothing is known."""
    wanted: Task = UNKNOWN_CLASSES
    """What a federation has labels for."""
    own_task: OwnTask | None = None
    """The functions of a task of the user's own."""

    @cached_property
    def task(self) -> Task:
        """What it learns: a language model learns what its inputs say next, whatever the labels."""
        if self.wanted.is_classification and isinstance(self.initial_module(0), LanguageModel):
            return Task(kind="next-word", count=self.wanted.count)
        return self.wanted

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The tensors of the module in the order of the row."""
        found: list[Piece] = []
        start = 0
        one, other = self.initial_module(0), self.initial_module(0)
        if one is other:
            raise InputError(f"net {self.name} gives the same module again", need="a new module at every call")
        for (name, tensor, trained), (_, again, _) in zip(tensors(one), tensors(other), strict=True):
            what = f"a tensor of net {self.name}"
            if isinstance(tensor, UninitializedParameter | UninitializedBuffer):
                raise InputError(f"{what} has no shape yet", where=name, need="layers with sizes")
            if not torch.equal(tensor, again):
                need = "weights drawn from torch, numpy.random or random, which are seeded"
                raise InputError(f"net {self.name} has other initial weights at every call", need=need)
            if tensor.dtype != torch.float32:
                raise InputError(f"{what} is not float32", where=name, got=str(tensor.dtype), need="torch.float32")
            found.append(Piece(name, tuple(tensor.shape), start, start + tensor.numel(), trained))
            start += tensor.numel()
        if not any(piece.is_trained for piece in found):
            raise InputError(f"net {self.name} has nothing to train", got="0 trainable parameters", need="at least 1")
        return tuple(found)

    @property
    def size(self) -> int:
        """Numbers in a row."""
        return self.pieces[-1].stop

    @property
    def trained_size(self) -> int:
        """How many of them, from the first, are trained."""
        return max(piece.stop for piece in self.pieces if piece.is_trained)

    @property
    def layers(self) -> tuple[int, ...]:
        """How many numbers each trained layer has: a layer is a module's own weights and biases."""
        sizes: dict[str, int] = {}
        for piece in self.pieces:
            if piece.is_trained:
                owner = piece.name.rpartition(".")[0]
                sizes[owner] = sizes.get(owner, 0) + piece.stop - piece.start
        return tuple(sizes.values())

    @contextmanager
    def use_seed(self, seed: int) -> Iterator[None]:
        """Inside, what the module draws follows this seed; afterwards every generator is as it was.

        The generators themselves are set, and not by torch.manual_seed, which looks for graphics cards at every call. A
        user's module may draw from numpy's and Python's own generators too; ours do not, and need not pay for it.
        """
        before = torch.default_generator.get_state()
        others = (np.random.get_state(), random.getstate()) if self.is_custom else None  # noqa: NPY002
        torch.default_generator.manual_seed(seed)
        if self.is_custom:
            np.random.seed(seed % 2**32)  # noqa: NPY002
            random.seed(seed)
        try:
            yield
        finally:
            torch.default_generator.set_state(before)
            if others is not None:
                np.random.set_state(others[0])  # noqa: NPY002
                random.setstate(others[1])

    def initial_module(self, torch_seed: int) -> nn.Module:
        """A module with initial weights from this seed; torch's own generator is left as it was."""
        with self.use_seed(torch_seed):
            module = self.make()
        if not isinstance(module, nn.Module):
            raise InputError(
                f"net {self.name} does not make a module", got=type(module).__name__, need="a torch.nn.Module"
            )
        return module

    def initial_row(self, seed: int, number: int = 0) -> Row:
        """Initial weights number 0, 1, ... of a run with this seed."""
        assert self.pieces  # a module that cannot be a row says so here
        return self.row(self.initial_module(int(generator(seed, "first model", number).integers(2**62))))

    def check(
        self, inputs: NDArray[np.generic], classes: int, *, training: bool = False, labels: Labels | None = None
    ) -> None:
        """An error unless the module reads such inputs, as many at once, and has the outputs that its task needs.

        With their labels an own task's loss is tried too.
        """
        module = self.module(self.initial_row(0)).train(training)
        tried = self.own_task is not None and labels is not None
        try:
            with torch.set_grad_enabled(tried), self.use_seed(0):
                outputs = module(torch.from_numpy(np.array(inputs)))
            shape = tuple(outputs.shape)
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise InputError(
                f"net {self.name} cannot read the inputs",
                got=f"{type(error).__name__}: {error}",
                need=f"a module for {'training on ' if training else ''}{len(inputs)} inputs {inputs.shape[1:]}",
                do="another local.batch, if the last batch is too short for it" if training else "",
            ) from None
        if need := self.wrong_outputs(shape, inputs.shape, classes):
            what = f"net {self.name} does not fit the {'classes' if self.task.is_classification else 'task'}"
            raise InputError(what, got=f"outputs {shape}", need=need)
        if self.own_task is not None and labels is not None:
            check_loss(self.own_task, outputs, torch.from_numpy(np.array(labels)))

    def wrong_outputs(self, shape: tuple[int, ...], inputs: tuple[int, ...], classes: int) -> str:
        """What outputs of this shape should be for such inputs; empty if they are that."""
        count = inputs[0]
        if self.task.kind == "next-word":
            known = isinstance(self.initial_module(0), LanguageModel)
            return "" if known else 'a language model: lstm with predicts = "next-word"'
        if self.task.kind == "own" and isinstance(self.initial_module(0), LanguageModel):
            return "a net that is no language model: those have a loss of their own"
        if self.task.kind == "own":
            return "" if shape[:1] == (count,) else f"({count}, ...): a row for each example"
        if self.task.kind == "reconstruction":
            return "" if shape[:1] == (count,) and prod(shape) == prod(inputs) else f"{inputs}: as the inputs"
        if self.task.kind == "regression":
            return "" if shape in ((count,), (count, 1)) else f"({count}, 1): a number for each example"
        if self.task.kind == "multi-label":
            return "" if shape == (count, self.task.count) else f"({count}, {self.task.count}): one for each flag"
        fits = len(shape) == 2 and shape[0] == count and shape[1] >= classes
        return "" if fits else f"({count}, {classes}): one for each class"

    def check_row(self, row: Row) -> None:
        """An error unless it is a row of this net."""
        if row.shape != (self.size,):
            raise InputError(f"a row does not fit net {self.name}", got=str(row.shape), need=f"({self.size},)")

    def row(self, module: nn.Module) -> Row:
        """The module's numbers as a row of its own."""
        with torch.no_grad():
            row: Row = torch.cat([tensor.detach().reshape(-1) for _, tensor, _ in tensors(module)]).cpu().numpy()
        return row

    def module(self, row: Row) -> nn.Module:
        """A module with these numbers, ready to predict."""
        self.check_row(row)
        module = self.initial_module(0)
        source = torch.from_numpy(np.array(row, dtype=np.float32))
        with torch.no_grad():
            for piece, (_, tensor, _) in zip(self.pieces, tensors(module), strict=True):
                tensor.copy_(source[piece.start : piece.stop].view(piece.shape))
        return module.eval()


def tensors(module: nn.Module) -> list[tuple[str, Tensor, bool]]:
    """What a row is made of, in its order: name, tensor, trained or not. A tied tensor stands there once."""
    parameters = list(module.named_parameters())
    return [
        *((name, tensor, True) for name, tensor in parameters if tensor.requires_grad),
        *((name, tensor, False) for name, tensor in parameters if not tensor.requires_grad),
        *((name, tensor, False) for name, tensor in module.named_buffers() if tensor.is_floating_point()),
    ]
