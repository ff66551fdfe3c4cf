"""Examples dealt over all clients, for worlds in which groups see the same examples differently."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import ClientId, generator
from fedclade.data.examples import Index, Source
from fedclade.data.shares import apportion, client_names, cut, deal, dirichlet_shares, plant_groups
from fedclade.data.worlds.spread import GroupedWorldSettings, check_enough

Skew = Annotated[float, Field(ge=0, le=1e6)]
"""Dirichlet's alpha for each client's own mix of the classes inside the groups; 0: no skew."""


def deal_in_groups(
    world: str, asked: GroupedWorldSettings, skew: float, source: Source, seed: int
) -> tuple[dict[ClientId, Index], list[tuple[ClientId, ...]]]:
    """Each client's share of all examples, with a label skew if asked for, and the clients of each group."""
    total = len(source.train.labels)
    check_enough(total, asked.clients)
    groups = plant_groups(asked.clients, asked.groups, asked.group_sizes, generator(seed, world, "groups"))
    rng = generator(seed, world, "deal")
    if not skew:
        ids = client_names(asked.clients)
        return dict(zip(ids, deal(np.arange(total), len(ids), rng), strict=True)), groups
    # Each group first gets an even part of everything, so that the skew is inside the groups and does not tell them.
    parts = cut(np.arange(total), apportion(total, [len(members) for members in groups]), rng)
    shares: dict[ClientId, Index] = {}
    for members, part in zip(groups, parts, strict=True):
        inside = dirichlet_shares(source.train.labels[part], len(members), skew, rng)
        shares.update((client, part[some]) for client, some in zip(members, inside, strict=True))
    return shares, groups
