"""A world with less to learn from: every client keeps some of its training examples. Goes over any world.

CFL's figures 6 and 7 draw clients with 10 to 2,400 examples from the same world so. A share instead of a number keeps
clients as different in size as they are.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import ClientId, generator, settings
from fedclade.data.federation import ClientData, Federation


@settings
class Fewer:
    """Clients keep so many training examples at most, or a share of them; what they are tested on stays."""

    examples: Annotated[int, Field(ge=1, le=10**9)] = 100
    """Drawn at random from each client's own."""
    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """If not 0, so large a share of each client's own, one at least, in the place of `examples`."""

    @property
    def last_round(self) -> int:
        return 0

    def apply(self, federation: Federation, seed: int) -> Federation:
        """The same federation with fewer training examples."""
        data: dict[ClientId, ClientData] = {}
        for client, held in federation.data.items():
            order = generator(seed, "fewer", client).permutation(held.train.index)
            count = max(round(self.share * len(order)), 1) if self.share else self.examples
            data[client] = replace(held, train=replace(held.train, index=np.sort(order[:count])))
        return replace(federation, data=data)
