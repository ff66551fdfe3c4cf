"""Examples: a pool of them, a source that has such pools, and a part of a pool that one client holds.

Examples stay in one pool. A client holds positions in it, and what its world does to them on the way out (turned
images, renamed labels), so that ten thousand clients cost no second copy.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import InputError

Index = NDArray[np.int64]
"""Positions in a pool."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Examples of one origin: inputs (n, ...) float32, uint8 (0 to 255), or int32 (words of a vocabulary)."""

    inputs: NDArray[np.float32] | NDArray[np.uint8] | NDArray[np.int32]
    labels: NDArray[np.int64]
    """(n,) from 0."""
    owners: NDArray[np.int64] | None = None
    """Whose each example is, where it has a natural owner (the writer of a digit): (n,)."""

    def __post_init__(self) -> None:
        if self.inputs.dtype not in (np.float32, np.uint8, np.int32) or self.inputs.ndim < 2:
            raise InputError(
                "inputs have the wrong form",
                where="a pool of examples",
                got=f"{self.inputs.dtype} {self.inputs.shape}",
                need="float32, uint8 or int32 (examples, ...)",
            )
        if self.labels.dtype != np.int64 or self.labels.shape != self.inputs.shape[:1]:
            raise InputError(
                "labels have the wrong form",
                where="a pool of examples",
                got=f"{self.labels.dtype} {self.labels.shape}",
                need=f"int64 ({len(self.inputs)},)",
            )
        if self.owners is not None and (self.owners.dtype != np.int64 or self.owners.shape != self.labels.shape):
            raise InputError(
                "owners have the wrong form",
                where="a pool of examples",
                got=f"{self.owners.dtype} {self.owners.shape}",
                need=f"int64 ({len(self.labels)},)",
            )
        if len(self.labels) and self.labels.min() < 0:
            raise InputError("a label is negative", where="a pool of examples", got=str(self.labels.min()), need=">= 0")
        if self.inputs.dtype == np.float32 and not np.isfinite(self.inputs).all():
            broken = ~np.all(np.isfinite(self.inputs), axis=tuple(range(1, self.inputs.ndim)))
            raise InputError(
                "inputs are not finite",
                where=f"a pool of examples, first at example {int(np.argmax(broken))}",
                got=f"NaN or infinity in {int(broken.sum())} of {len(broken)} examples",
                need="finite numbers",
                do="drop or fill these examples",
            )
        for name in ("inputs", "labels"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __repr__(self) -> str:
        return f"Pool({len(self.labels)} examples, {self.inputs.dtype} {self.inputs.shape[1:]})"


@dataclass(frozen=True, eq=False)
class Source:
    """Where examples come from, before a world spreads them."""

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
    """What each label is called here; None: as in the pool."""
    quarter_turns: int = 0
    """How far images are turned, counter-clockwise."""

    @property
    def inputs(self) -> NDArray[np.float32] | NDArray[np.int64]:
        """(examples, ...) made anew at every call: float32, bytes as 0 to 1; words as int64."""
        raw = self.pool.inputs[self.index]
        if raw.dtype == np.int32:
            return raw.astype(np.int64)
        scaled = raw.astype(np.float32)
        if raw.dtype == np.uint8:
            scaled /= np.float32(255)
        return (
            np.ascontiguousarray(np.rot90(scaled, self.quarter_turns, axes=(-2, -1))) if self.quarter_turns else scaled
        )

    @property
    def labels(self) -> NDArray[np.int64]:
        """(examples,) int64."""
        labels: NDArray[np.int64] = self.pool.labels[self.index]
        return labels if self.relabel is None else self.relabel[labels]

    def __len__(self) -> int:
        return len(self.index)

    def check(self, where: str, classes: int) -> None:
        """An error unless every position is in the pool and every label is one of so many classes."""
        if self.index.dtype != np.int64 or self.index.ndim != 1:
            raise InputError(
                "positions have the wrong form",
                where=where,
                got=f"{self.index.dtype} {self.index.shape}",
                need="int64 (examples,)",
            )
        if self.relabel is not None and self.relabel.dtype != np.int64:
            raise InputError("new labels have the wrong form", where=where, got=str(self.relabel.dtype), need="int64")
        within("position", self.index, len(self.pool.labels), where)
        within("label", self.labels, classes, where)


def within(what: str, numbers: NDArray[np.int64], end: int, where: str) -> None:
    """An error unless all of these numbers are from 0 and below `end`."""
    if numbers.min() < 0 or numbers.max() >= end:
        got = f"{numbers.min()} to {numbers.max()}"
        raise InputError(f"a {what} is out of range", where=where, got=got, need=f"0 to {end - 1}")
