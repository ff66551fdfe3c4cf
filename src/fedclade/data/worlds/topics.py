"""One class for each client: the topics of AG-News in CFL's language experiment. Clients of a topic are a group."""

import numpy as np

from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import dealt, named, planted
from fedclade.data.worlds.spread import Clients, Count, assembled, check_enough
from fedclade.nouns import ClientId, InputError, generator, settings


@settings
class Topics(Clients):
    """Each client has one topic only (CFL, AG-News); a group for each topic."""

    group_sizes: tuple[Count, ...] = ()
    """How the clients are shared out over the topics, as in any world with groups."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client of its topic."""
        if self.clients < source.classes:
            raise InputError(
                "fewer clients than topics",
                where="data.clients",
                got=str(self.clients),
                need=f"at least {source.classes}",
            )
        check_enough(len(source.train.labels), self.clients)
        ids = named(self.clients)
        home = planted(ids, source.classes, self.group_sizes, generator(seed, "topics", "groups"))
        shares: dict[ClientId, Index] = {}
        for topic in range(source.classes):
            members = [client for client in ids if home[client] == topic]
            positions = np.flatnonzero(source.train.labels == topic)
            shares.update(
                zip(members, dealt(positions, len(members), generator(seed, "topics", "deal", topic)), strict=True)
            )
        return assembled("topics", self, source, seed, {client: shares[client] for client in ids}, home)
