"""A world with less to learn from: everybody keeps some of its training examples. Goes over any world.

CFL's figures 6 and 7 draw clients with 10 to 2,400 examples from the same world so.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.data.federation import ClientData, Federation
from fedclade.nouns import ClientId, generator, settings


@settings
class Fewer:
    """Clients keep so many training examples at the most; what they are tested on stays."""

    examples: Annotated[int, Field(ge=1, le=10**9)] = 100
    """Drawn at random from each client's own."""

    @property
    def last(self) -> int:
        return 0

    def over(self, federation: Federation, seed: int) -> Federation:
        """The same federation with fewer training examples."""
        return replace(
            federation, data={client: self.kept(client, held, seed) for client, held in federation.data.items()}
        )

    def kept(self, client: ClientId, held: ClientData, seed: int) -> ClientData:
        """What one client keeps."""
        order = generator(seed, "fewer", client).permutation(held.train.index)
        return replace(held, train=replace(held.train, index=np.sort(order[: self.examples])))
