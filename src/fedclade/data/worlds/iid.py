"""All clients draw from the same distribution: there is one group, and nothing to find."""

import numpy as np

from fedclade.core import generator, settings
from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.shares import client_names, deal
from fedclade.data.worlds.spread import WorldSettings, check_enough, make_federation


@settings
class IID(WorldSettings):
    """Examples dealt at random; one group."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; sizes differ by one at most."""
        check_enough(len(source.train.labels), self.clients)
        ids = client_names(self.clients)
        shares = deal(np.arange(len(source.train.labels)), self.clients, generator(seed, "iid", "deal"))
        return make_federation("iid", self, source, seed, dict(zip(ids, shares, strict=True)), [ids])
