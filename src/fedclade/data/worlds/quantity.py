"""The same distribution everywhere, but some clients have much more of it: sizes by a power law, one group."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import generator, settings
from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.shares import apportion, client_names, cut
from fedclade.data.worlds.spread import WorldSettings, check_enough, make_federation


@settings
class Quantity(WorldSettings):
    """Sizes differ by a power law, the distribution does not; one group."""

    power: Annotated[float, Field(ge=0, le=5)] = 1.0
    """The client of rank r has a share in proportion to r to the minus this power; 0: all alike."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; each has at least two. Ranks are drawn."""
        ids = client_names(self.clients)
        total = len(source.train.labels)
        check_enough(total, self.clients)
        ranks = generator(seed, "quantity", "ranks").permutation(self.clients).astype(np.float64) + 1.0
        sizes = apportion(total, np.power(ranks, -self.power), minimum=2)
        shares = cut(np.arange(total), sizes, generator(seed, "quantity", "deal"))
        return make_federation("quantity", self, source, seed, dict(zip(ids, shares, strict=True)), [ids])
