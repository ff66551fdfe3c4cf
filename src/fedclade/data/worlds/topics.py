"""One class for each client: the topics of AG-News in CFL's language experiment. Clients of a topic are a group."""

import numpy as np

from fedclade.core import ClientId, InputError, generator, settings
from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import deal, plant_groups
from fedclade.data.worlds.spread import PositiveCount, WorldSettings, check_enough, make_federation


@settings
class Topics(WorldSettings):
    """Each client has one topic only (CFL, AG-News); a group for each topic."""

    group_sizes: tuple[PositiveCount, ...] = ()
    """Counts or proportions of clients for the topics, as in any world with groups."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client of its topic."""
        if self.clients < source.classes:
            need = f"at least {source.classes}"
            raise InputError("fewer clients than topics", where="data.clients", got=str(self.clients), need=need)
        check_enough(len(source.train.labels), self.clients)
        groups = plant_groups(self.clients, source.classes, self.group_sizes, generator(seed, "topics", "groups"))
        shares: dict[ClientId, Index] = {}
        for topic, members in enumerate(groups):
            positions = np.flatnonzero(source.train.labels == topic)
            parts = deal(positions, len(members), generator(seed, "topics", "deal", topic))
            shares.update(zip(members, parts, strict=True))
        return make_federation("topics", self, source, seed, shares, groups)
