"""Examples dealt over all clients, whatever their group: for worlds whose groups see the same examples differently."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.data.examples import Index, Source
from fedclade.data.shares import apportioned, cut, dealt, named, planted, skewed
from fedclade.data.worlds.spread import GroupedClients, check_enough
from fedclade.nouns import ClientId, generator

Skew = Annotated[float, Field(ge=0, le=1e6)]
"""Dirichlet's alpha for each client's own mix of the classes inside the groups; 0: no skew."""


def dealt_in_groups(
    world: str, asked: GroupedClients, skew: float, source: Source, seed: int
) -> tuple[dict[ClientId, Index], dict[ClientId, int]]:
    """Everybody's share of all examples, with a label skew if asked for, and everybody's group."""
    total = len(source.train.labels)
    check_enough(total, asked.clients)
    ids = named(asked.clients)
    home = planted(ids, asked.groups, asked.group_sizes, generator(seed, world, "groups"))
    rng = generator(seed, world, "deal")
    if not skew:
        return dict(zip(ids, dealt(np.arange(total), len(ids), rng), strict=True)), home
    # Each group first gets an even part of everything, so that the skew is inside the groups and does not tell them.
    members = [[client for client in ids if home[client] == group] for group in range(asked.groups)]
    parts = cut(np.arange(total), apportioned(total, [len(each) for each in members]), rng)
    shares: dict[ClientId, Index] = {}
    for mine, part in zip(members, parts, strict=True):
        inside = skewed(source.train.labels[part], len(mine), skew, rng)
        shares.update((client, part[some]) for client, some in zip(mine, inside, strict=True))
    return {client: shares[client] for client in ids}, home
