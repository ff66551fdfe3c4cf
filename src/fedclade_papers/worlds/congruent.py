"""Clients with classes that differ but do not contradict: CFL, figure 8.

One half of the clients has the lower half of the classes, the other half the upper. One model can serve all of them, so
they are one group, and a method that splits them is wrong.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import ClientId, Groups, generator, settings
from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import client_names, deal
from fedclade.data.worlds.spread import WorldSettings, check_enough, make_federation


@settings
class Congruent(WorldSettings):
    """Other classes for each half of the clients, one model for all (CFL, figure 8); one group."""

    clients: Annotated[int, Field(ge=2, le=10**6)] = 2
    """How many clients: every other one is of the same half."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client of the half that its class belongs to."""
        check_enough(len(source.train.labels), self.clients)
        ids = client_names(self.clients)
        halves = (ids[::2], ids[1::2])
        upper = source.train.labels >= (source.classes + 1) // 2
        shares: dict[ClientId, Index] = {}
        for half, members in enumerate(halves):
            parts = deal(np.flatnonzero(upper == bool(half)), len(members), generator(seed, "congruent", "deal", half))
            shares.update(zip(members, parts, strict=True))
        made = make_federation("congruent", self, source, seed, shares, halves)  # tested by halves
        return replace(made, truth=Groups((ids,)))
