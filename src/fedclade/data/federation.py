"""A federation: the clients' examples, and the planted truth where the world has one.

Examples stay in one pool. A client holds positions in it, and what its world does to them on the way out (turned
images, renamed labels), so that ten thousand clients cost no second copy.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, Groups, InputError, checked_ids


@dataclass(frozen=True, eq=False)
class Pool:
    """Examples of one origin: inputs (n, ...) float32 or uint8, labels (n,) from 0."""

    inputs: NDArray[np.float32] | NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.inputs.dtype not in (np.float32, np.uint8) or self.inputs.ndim < 2:
            raise InputError(
                "inputs have the wrong form",
                where="a pool of examples",
                got=f"{self.inputs.dtype} {self.inputs.shape}",
                need="float32 or uint8 (examples, ...)",
            )
        if self.labels.dtype != np.int64 or self.labels.shape != self.inputs.shape[:1]:
            raise InputError(
                "labels have the wrong form",
                where="a pool of examples",
                got=f"{self.labels.dtype} {self.labels.shape}",
                need=f"int64 ({len(self.inputs)},)",
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


@dataclass(frozen=True, eq=False)
class Source:
    """Where examples come from, before a world spreads them."""

    name: str
    train: Pool
    classes: int

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
    def inputs(self) -> NDArray[np.float32]:
        """(examples, ...) float32, made anew at every call; bytes become 0 to 1."""
        raw = self.pool.inputs[self.index]
        scaled = raw.astype(np.float32) / np.float32(255) if raw.dtype == np.uint8 else raw.astype(np.float32)
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
        within("position", self.index, len(self.pool.labels), where)
        within("label", self.labels, classes, where)


def within(what: str, numbers: NDArray[np.int64], end: int, where: str) -> None:
    """An error unless all of these numbers are from 0 and below `end`."""
    if numbers.min() < 0 or numbers.max() >= end:
        got = f"{numbers.min()} to {numbers.max()}"
        raise InputError(f"a {what} is out of range", where=where, got=got, need=f"0 to {end - 1}")


@dataclass(frozen=True, eq=False)
class ClientData:
    """What one client holds: examples to learn from, and others to be judged by."""

    train: Part
    test: Part


@dataclass(frozen=True, eq=False)
class Federation:
    """All clients with their examples."""

    name: str
    data: Mapping[ClientId, ClientData]
    classes: int
    truth: Groups | None = None
    """The planted groups. Only a run's metrics may read them; no fleet and no method ever sees this object."""

    def __post_init__(self) -> None:
        ids = checked_ids(self.data, where=self.name)
        shapes = {part.pool.inputs.shape[1:] for held in self.data.values() for part in (held.train, held.test)}
        if len(shapes) != 1:
            raise InputError(
                "clients' inputs differ in shape", where=self.name, got=str(sorted(shapes)), need="one shape"
            )
        for client in ids:
            for use, part in (("training", self.data[client].train), ("test", self.data[client].test)):
                if len(part) == 0:
                    raise InputError(
                        f'client "{client}" has no {use} examples',
                        where=self.name,
                        got="0",
                        need="at least 1",
                        do="give it examples or leave it out",
                    )
                part.check(f'{self.name}, client "{client}"', self.classes)
        if self.truth is not None:
            self.truth.covering(ids)
        object.__setattr__(self, "data", {client: self.data[client] for client in ids})

    @property
    def clients(self) -> tuple[ClientId, ...]:
        """Everybody, in sorted order."""
        return tuple(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return next(iter(self.data.values())).train.pool.inputs.shape[1:]

    def __getitem__(self, client: ClientId) -> ClientData:
        if client not in self.data:
            raise InputError(f'there is no client "{client}"', where=self.name, need=f"one of {len(self.data)} ids")
        return self.data[client]

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over every client's examples: a resumed run must find the data that it started with."""
        whole = hashlib.sha256(f"{self.classes}\n".encode())
        pools: dict[int, bytes] = {}
        for client, held in self.data.items():
            for part in (held.train, held.test):
                if id(part.pool) not in pools:
                    content = hashlib.sha256(f"{part.pool.inputs.dtype} {part.pool.inputs.shape}".encode())
                    content.update(np.ascontiguousarray(part.pool.inputs).data)
                    content.update(np.ascontiguousarray(part.pool.labels).data)
                    pools[id(part.pool)] = content.digest()
                whole.update(f"{client}\n{len(part)} {part.quarter_turns}\n".encode() + pools[id(part.pool)])
                whole.update(np.ascontiguousarray(part.index).data)
                whole.update(b"" if part.relabel is None else np.ascontiguousarray(part.relabel).data)
        return whole.hexdigest()
