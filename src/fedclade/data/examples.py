"""Examples: a pool of them, a source that has pools, and a part of a pool that one client holds.

Examples stay in one pool. A client holds positions in it, and what its world does to them on the way out (turned
images, renamed labels), so that ten thousand clients cost no second copy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.core.task import Labels, Task
from fedclade.data.raw_table import RawTable

Index = NDArray[np.int64]
"""Positions in a pool."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Examples of one origin: inputs (n, ...) float32, uint8 (0 to 255), or int32 (words of a vocabulary)."""

    inputs: NDArray[np.float32] | NDArray[np.uint8] | NDArray[np.int32]
    labels: Labels
    """(n,) from 0; of a regression (n,) float32; of several flags (n, flags) uint8: see `fedclade.core.task`."""
    owners: NDArray[np.int64] | None = None
    """The owner of each example, where it has a natural one (the writer of a digit): (n,)."""
    table: RawTable | None = None
    """The rows as they were written, where they come from a table: what a preparation makes inputs of."""
    class_names: tuple[str, ...] = ()
    """The names of the labels, where a client knows them."""

    def __post_init__(self) -> None:
        good = self.inputs.dtype in (np.float32, np.uint8, np.int32) and self.inputs.ndim >= 2
        check_form("inputs", self.inputs, good, "float32, uint8 or int32 (examples, ...)")
        if self.owners is not None:
            good = self.owners.dtype == np.int64 and self.owners.shape == self.inputs.shape[:1]
            check_form("owners", self.owners, good, f"int64 ({len(self.inputs)},)")
        wanted = {np.dtype(np.int64): 1, np.dtype(np.float32): 1, np.dtype(np.uint8): 2}.get(self.labels.dtype, 0)
        good = wanted == self.labels.ndim and self.labels.shape[:1] == self.inputs.shape[:1]
        need = f"int64 ({len(self.inputs)},), float32 of this shape, or uint8 ({len(self.inputs)}, flags)"
        check_form("labels", self.labels, good, need)
        if not np.isfinite(self.labels).all():
            raise InputError("a label is not finite", where="a pool of examples", need="finite numbers")
        if self.labels.dtype == np.int64 and len(self.labels) and self.labels.min() < 0:
            raise InputError("a label is negative", where="a pool of examples", got=str(self.labels.min()), need=">= 0")
        if self.inputs.dtype == np.float32 and not np.isfinite(self.inputs).all():
            broken = ~np.all(np.isfinite(self.inputs), axis=tuple(range(1, self.inputs.ndim)))
            got = f"NaN or infinity in {int(broken.sum())} of {len(broken)} examples"
            where = f"a pool of examples, first at example {int(np.argmax(broken))}"
            raise InputError(
                "inputs are not finite", where=where, got=got, need="finite numbers", do="drop or fill these examples"
            )
        for name in ("inputs", "labels"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __repr__(self) -> str:
        return f"Pool({len(self.labels)} examples, {self.inputs.dtype} {self.inputs.shape[1:]})"


@dataclass(frozen=True, eq=False)
class Source:
    """Examples of one origin, before a world spreads them."""

    name: str
    train: Pool
    classes: int
    test: Pool | None = None
    """The official test examples, where there are some."""
    class_names: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return self.train.inputs.shape[1:]


@dataclass(frozen=True, eq=False)
class Part:
    """The examples of one client for one use: a view into a pool."""

    pool: Pool
    index: NDArray[np.int64]
    relabel: NDArray[np.int64] | None = None
    """The new label of each label; None: as in the pool."""
    quarter_turns: int = 0
    """Counter-clockwise turns of images, in quarters."""

    @property
    def inputs(self) -> NDArray[np.float32] | NDArray[np.int64]:
        """(examples, ...) made anew at every call: float32, bytes as 0 to 1; words as int64."""
        raw = self.pool.inputs[self.index]
        if raw.dtype == np.int32:
            return raw.astype(np.int64)
        scaled = raw.astype(np.float32)
        if raw.dtype == np.uint8:
            scaled /= np.float32(255)
        if self.quarter_turns:
            return np.ascontiguousarray(np.rot90(scaled, self.quarter_turns, axes=(-2, -1)))
        return scaled

    @property
    def labels(self) -> Labels:
        """(examples,) int64, or as the pool has them."""
        labels = self.pool.labels[self.index]
        return labels if self.relabel is None else self.relabel[labels]

    def __len__(self) -> int:
        return len(self.index)

    def check(self, where: str, task: Task) -> None:
        """An error unless every position is in the pool and every label is one of the task."""
        good = self.index.dtype == np.int64 and self.index.ndim == 1
        check_form("positions", self.index, good, "int64 (examples,)", where)
        if self.relabel is not None and self.relabel.dtype != np.int64:
            raise InputError("new labels have the wrong form", where=where, got=str(self.relabel.dtype), need="int64")
        check_range("position", self.index, len(self.pool.labels), where)
        if task.labels == "class":
            check_range("label", self.labels, task.count, where)
        task.check_labels(self.labels, where)


def check_form(what: str, array: NDArray[np.generic], good: bool, need: str, where: str = "a pool of examples") -> None:
    """An error that names the type and the shape of an array, unless they are good."""
    if not good:
        raise InputError(f"{what} have the wrong form", where=where, got=f"{array.dtype} {array.shape}", need=need)


def labelled_pool(images: NDArray[np.uint8], labels: NDArray[np.integer], classes: int, where: Path | str) -> Pool:
    """Images with their labels, one for each, of so many classes."""
    if len(images) != len(labels):
        got = f"{len(labels):,} labels"
        raise InputError("the labels do not fit the images", where=str(where), got=got, need=f"{len(images):,}")
    numbers = labels.astype(np.int64)
    check_range("label", numbers, classes, str(where))
    return Pool(images, numbers)


def check_one_shape(inputs: Mapping[ClientId, NDArray[np.generic]], where: str) -> None:
    """An error that names two clients, if the shape of one example is not the same for all."""
    shapes: dict[tuple[int, ...], ClientId] = {}
    for client, array in inputs.items():
        shapes.setdefault(array.shape[1:], client)
    if len(shapes) > 1:
        got = " and ".join(f'{shape} in client "{client}"' for shape, client in list(shapes.items())[:2])
        raise InputError("clients' inputs differ in shape", where=where, got=got, need="one shape")


def check_range(what: str, numbers: NDArray[np.int64], end: int, where: str) -> None:
    """An error unless all of these numbers are from 0 to `end` - 1."""
    if numbers.min() < 0 or numbers.max() >= end:
        got = f"{numbers.min()} to {numbers.max()}"
        raise InputError(f"a {what} is out of range", where=where, got=got, need=f"0 to {end - 1}")
