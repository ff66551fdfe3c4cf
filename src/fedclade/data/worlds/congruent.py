"""Clients whose classes differ but do not contradict: CFL, figure 8.

One half of the clients has the lower half of the classes, the other half the upper. One model can serve all of them, so
they are one group, and a method that splits them is wrong.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import dealt, named
from fedclade.data.worlds.spread import Clients, assembled, check_enough
from fedclade.nouns import ClientId, Groups, generator, settings


@settings
class Congruent(Clients):
    """Other classes for each half of the clients, one model for all (CFL, figure 8); one group."""

    clients: Annotated[int, Field(ge=2, le=10**6)] = 2

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client of the half that its class belongs to."""
        check_enough(len(source.train.labels), self.clients)
        ids = named(self.clients)
        halves = {client: number % 2 for number, client in enumerate(ids)}
        shares: dict[ClientId, Index] = {}
        for half in (0, 1):
            members = [client for client in ids if halves[client] == half]
            upper = source.train.labels >= (source.classes + 1) // 2
            parts = dealt(np.flatnonzero(upper == bool(half)), len(members), generator(seed, "congruent", "deal", half))
            shares.update(zip(members, parts, strict=True))
        # Tested by halves, and one group in truth.
        return assembled("congruent", self, source, seed, shares, halves, truth=Groups((ids,)))
