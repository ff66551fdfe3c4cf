"""The general path: any module, by torch's autograd, one client after another."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Part
from fedclade.local.evaluate import losses_of, score
from fedclade.local.train import seeded, train
from fedclade.local.workbench import Workbench
from fedclade.nets import Net
from fedclade.nouns import ClientId, InputError, Round, Row, Rows

PathName = Literal["kernel", "batched", "convolution", "general"]
Asked = Literal["auto", "general"]
"""What `engine.path` may say."""


@dataclass(frozen=True, eq=False)
class Training:
    """One client that is to train."""

    start: Row
    part: Part
    now: Round
    client: ClientId
    towards: Row | None = None
    """Where a pull goes, if not to the start."""

    @property
    def width(self) -> int:
        """Examples in its longest batch."""
        return min(self.now.local.batch, len(self.part))

    @property
    def steps(self) -> int:
        return self.now.local.epochs * -(-len(self.part) // self.width)


class General:
    """What every other path must agree with, and where it sends what it cannot do."""

    name: PathName = "general"
    together = 1

    def __init__(self, net: Net) -> None:
        self.net = net
        self._bench = Workbench(net)

    def train(
        self, start: Row, part: Part, now: Round, client: ClientId, towards: Row | None = None
    ) -> tuple[Row, float]:
        return train(self._bench, start, part, now, client, None if towards is None else self.fitting(towards))

    def train_all(self, asked: Sequence[Training]) -> list[tuple[Row, float]]:
        return [self.train(each.start, each.part, each.now, each.client, each.towards) for each in asked]

    def score(self, row: Row, part: Part) -> tuple[int, float]:
        return score(self._bench, row, part)

    def losses(self, rows: Rows, part: Part) -> NDArray[np.float64]:
        return losses_of(self._bench, rows, part)

    def seeded(self, now: Round, client: ClientId) -> AbstractContextManager[None]:
        """Inside, torch draws what this client draws in training."""
        return seeded(self.net, now, client)

    def fitting(self, row: Row) -> Row:
        """The row, in one piece; an error unless it is one of this net."""
        if row.shape != (self.net.size,):
            raise InputError(f"a row does not fit net {self.net.name}", got=str(row.shape), need=f"({self.net.size},)")
        return np.ascontiguousarray(row, np.float32)
