"""Examples in the order of their labels, cut into one piece for each client (McMahan et al., 2017)."""

import numpy as np

from fedclade.core import generator, settings
from fedclade.data import Federation, Source
from fedclade.data.shares import client_names
from fedclade.data.worlds.spread import WorldSettings, check_enough, make_federation


@settings
class Shards(WorldSettings):
    """Each client has a piece of the examples in the order of their labels: one class, or two; no groups."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; sizes differ by one at the most."""
        labels = source.train.labels
        check_enough(len(labels), self.clients)
        order = generator(seed, "shards", "order").permutation(len(labels))
        pieces = np.array_split(order[np.argsort(labels[order], kind="stable")], self.clients)
        return make_federation(
            "shards", self, source, seed, dict(zip(client_names(self.clients), pieces, strict=True)), None
        )
