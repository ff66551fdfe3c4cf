"""Everybody draws from the same distribution: there is one group, and nothing to find."""

import numpy as np

from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.shares import dealt, named
from fedclade.data.worlds.spread import Clients, assembled, check_enough
from fedclade.nouns import generator, settings


@settings
class IID(Clients):
    """Examples dealt at random; one group."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; sizes differ by one at the most."""
        check_enough(len(source.train.labels), self.clients)
        ids = named(self.clients)
        shares = dealt(np.arange(len(source.train.labels)), self.clients, generator(seed, "iid", "deal"))
        return assembled("iid", self, source, seed, dict(zip(ids, shares, strict=True)), dict.fromkeys(ids, 0))
