"""The same distribution everywhere, but some clients have much more of it: sizes by a power law, one group."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.shares import apportioned, cut, named
from fedclade.data.worlds.spread import Clients, assembled, check_enough
from fedclade.nouns import generator, settings


@settings
class Quantity(Clients):
    """Sizes differ by a power law, the distribution does not; one group."""

    power: Annotated[float, Field(ge=0, le=5)] = 1.0
    """The client of rank r has a share in proportion to r to the minus this power; 0: all alike."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; nobody has fewer than two. Ranks are drawn."""
        ids = named(self.clients)
        total = len(source.train.labels)
        check_enough(total, self.clients)
        ranks = generator(seed, "quantity", "ranks").permutation(self.clients).astype(np.float64) + 1.0
        sizes = apportioned(total, np.power(ranks, -self.power), least=2)
        shares = cut(np.arange(total), sizes, generator(seed, "quantity", "deal"))
        return assembled("quantity", self, source, seed, dict(zip(ids, shares, strict=True)), dict.fromkeys(ids, 0))
