"""The compiled kernel, for stacks of linear layers; absent where the package was installed without a C compiler."""

import ctypes
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.client.general import General, PathName, RowAndLoss, Training
from fedclade.client.native.build import LIBRARY, fingerprint
from fedclade.client.stack import MAX_LAYERS, Stack
from fedclade.core import Round, Row, Rows
from fedclade.core.evaluation import Evaluation
from fedclade.data import Part

ALIGNMENT = 64  # bytes of a cache line
NO_MEMORY = -1.0  # as native/kernel.h has it
Kind = Literal["plain", "fast"]
C_LONGS, C_FLOATS = ctypes.c_long * MAX_LAYERS, ctypes.c_float * MAX_LAYERS


class CNet(ctypes.Structure):
    """`struct net` of native/kernel.h, which says what each of these is."""

    _fields_ = (
        ("layers", ctypes.c_long),
        ("widths", ctypes.c_long * (MAX_LAYERS + 1)),
        ("weights", C_LONGS),
        ("biases", C_LONGS),
        ("relu", C_LONGS),
        ("keep", C_FLOATS),
    )

    @classmethod
    def of(cls, stack: Stack) -> "CNet":
        layers = stack.layers
        return cls(
            len(layers),
            (ctypes.c_long * (MAX_LAYERS + 1))(stack.features, *(layer.outputs for layer in layers)),
            C_LONGS(*(layer.weight for layer in layers)),
            C_LONGS(*(-1 if layer.bias is None else layer.bias for layer in layers)),
            C_LONGS(*(int(layer.relu) for layer in layers)),
            C_FLOATS(*(1 / (1 - layer.dropout) if layer.dropout else 0.0 for layer in layers)),
        )


class CRule(ctypes.Structure):
    """`struct rule`."""

    _fields_ = tuple((name, ctypes.c_float) for name in ("lr", "momentum", "decay", "proximal"))

    @classmethod
    def of(cls, now: Round) -> "CRule":
        sgd = now.local.sgd
        return cls(now.local.lr, sgd.momentum, sgd.weight_decay, now.proximal)


class CState(ctypes.Structure):
    """`struct state`."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("row", "velocity", "anchor"))

    @classmethod
    def of(cls, row: Row, velocity: Row | None, anchor: Row) -> "CState":
        """The arrays must live as long as this does."""
        return cls(row.ctypes.data, None if velocity is None else velocity.ctypes.data, anchor.ctypes.data)


class CPool(ctypes.Structure):
    """`struct pool`."""

    _fields_ = (("inputs", ctypes.c_void_p), ("bytes", ctypes.c_long))


class Library:
    """The functions of the library, for this processor or for any."""

    def __init__(self, loaded: ctypes.CDLL, kind: Kind) -> None:
        self.kind = kind
        pointer, whole = ctypes.c_void_p, ctypes.c_long
        self.train = getattr(loaded, f"train_{kind}")
        self.train.restype, self.train.argtypes = ctypes.c_double, [*[pointer] * 6, whole, whole, pointer]
        self.head = getattr(loaded, f"head_{kind}")
        self.head.restype, self.head.argtypes = ctypes.c_double, [*[pointer] * 5, whole, pointer, pointer]
        self.score = getattr(loaded, f"score_{kind}")
        self.score.argtypes = [pointer, pointer, whole, whole, *[pointer] * 3, whole, pointer, pointer]
        self.pool, self.pool_back = getattr(loaded, f"pool_{kind}"), getattr(loaded, f"pool_back_{kind}")
        self.pool.restype = self.pool_back.restype = None
        self.pool.argtypes = self.pool_back.argtypes = [pointer, pointer, pointer, whole, whole, whole]


@cache
def library(kind: Kind | None = None, path: Path = LIBRARY) -> Library | None:
    """The kernel, as fast as this processor allows unless a kind is asked for; None where it was not built."""
    try:
        loaded = ctypes.CDLL(str(path))
        loaded.sources.restype = ctypes.c_char_p
        if loaded.sources().decode() != fingerprint():
            return None  # built from other sources: install the package again
        return Library(loaded, kind or ("fast" if loaded.fast() else "plain"))
    except (OSError, AttributeError):
        return None


def is_built() -> bool:
    """Whether the kernel is here, and can be used."""
    return library() is not None


def state_of_kernel() -> str:
    """Whether the kernel is built, or what is to be done."""
    if is_built():
        return "built"
    if LIBRARY.exists():
        return "built from other sources, or for another machine: install fedclade again"
    return "not built: install a C compiler, then fedclade again"


class Kernel:
    """The path of stacks: trains one client a call."""

    name: PathName = "kernel"
    clients_at_once = 1

    def __init__(self, stack: Stack, functions: Library, general: General) -> None:
        self._stack, self._library, self._general = stack, functions, general
        self._net = CNet.of(stack)

    def train(self, asked: Training) -> RowAndLoss:
        part, now, client = asked.part, asked.now, asked.client
        if not self._stack.can_read(part):
            return self._general.train(asked)
        how, drops = now.local, self._stack.has_dropout
        row = aligned_copy(self._general.checked_row(asked.start))
        anchor = self._general.checked_row(asked.anchor)
        velocity = aligned_copy(np.zeros_like(row)) if how.sgd.momentum else None
        state, rule = CState.of(row, velocity, anchor), CRule.of(now)
        examples, labels = KernelExamples(part), part.labels
        totals, sizes = list[float](), list[int]()
        with self._general.use_client_seed(now, client) if drops else nullcontext():
            for order in asked.orders():
                places, wanted, count = examples.places[order], labels[order], len(order)
                masks = self._stack.masks(count, how.batch) if drops else None
                total: float = self._library.train(
                    *(ctypes.byref(each) for each in (self._net, rule, state, examples.pool)),
                    *(places.ctypes.data, wanted.ctypes.data, count, how.batch),
                    None if masks is None else masks.ctypes.data,
                )
                check_memory(total != NO_MEMORY)
                totals.append(total)
                sizes.append(count)
        return row, asked.mean_loss(totals, sizes)

    def evaluate(self, row: Row, part: Part) -> Evaluation:
        if not self._stack.can_read(part):
            return self._general.evaluate(row, part)
        return self._stack.evaluate(self._general.checked_row(row), part, self._general.net.task)

    def losses(self, rows: Rows, part: Part) -> NDArray[np.float64]:
        if not self._stack.can_read(part) or not len(rows):
            return self._general.losses(rows, part)
        self._general.checked_row(rows[0])
        rows = np.ascontiguousarray(rows, np.float32)
        examples, labels = KernelExamples(part), np.ascontiguousarray(part.labels)
        losses, correct = np.empty(len(rows), np.float64), np.empty(len(rows), np.int64)
        failed = self._library.score(
            *(ctypes.byref(self._net), rows.ctypes.data, rows.shape[1], len(rows)),
            *(ctypes.byref(examples.pool), examples.places.ctypes.data, labels.ctypes.data, len(part)),
            *(losses.ctypes.data, correct.ctypes.data),
        )
        check_memory(not failed)
        return losses / len(part)


def check_memory(memory: bool) -> None:
    """An error where the kernel found no memory to work in: that is not the client's fault."""
    if not memory:
        raise MemoryError("no memory for the kernel to work in")


class KernelExamples:
    """A client's examples as the kernel reads them: in the pool where they stand, or in an array of their own."""

    def __init__(self, part: Part) -> None:
        stored = part.pool.inputs
        as_they_are = not part.quarter_turns and stored.flags.c_contiguous
        self._kept = stored if as_they_are else np.ascontiguousarray(part.inputs)
        self.places = np.ascontiguousarray(part.index) if as_they_are else np.arange(len(part))
        self.pool = CPool(self._kept.ctypes.data, int(self._kept.dtype == np.uint8))


def aligned_copy(row: Row) -> Row:
    """A copy that starts with a cache line: no load crosses two of them without need."""
    whole = np.empty(row.size + ALIGNMENT // row.itemsize, row.dtype)
    first = -whole.ctypes.data % ALIGNMENT // row.itemsize
    copy: Row = whole[first : first + row.size]
    copy[:] = row
    return copy
