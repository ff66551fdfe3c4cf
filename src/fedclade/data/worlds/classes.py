"""Each group has classes of its own: FLT's scenario 1.

The classes, in random order, are cut into runs, one for each group. Within a group every client gets the same number
of examples of each of its classes, without replacement: what a class would give if all classes were as large, or less
where a class is small. (The authors' sampler pads short classes with copies of one image.)
"""

import numpy as np

from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import equal_shares, named, planted
from fedclade.data.worlds.spread import GroupedClients, assembled
from fedclade.nouns import ClientId, InputError, generator, settings


@settings
class Classes(GroupedClients):
    """Each group has classes of its own (FLT, scenario 1)."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Clients of a group share its classes and no example."""
        if self.groups > source.classes:
            raise InputError(
                "more groups than classes",
                where="data.groups",
                got=str(self.groups),
                need=f"at most {source.classes}, the classes of {source.name}",
            )
        ids = named(self.clients)
        home = planted(ids, self.groups, self.group_sizes, generator(seed, "classes", "groups"))
        runs = np.array_split(generator(seed, "classes", "classes").permutation(source.classes), self.groups)
        held: dict[ClientId, list[Index]] = {client: [] for client in ids}
        for group, classes in enumerate(runs):
            members = [client for client in ids if home[client] == group]
            for label in classes:
                give(source, int(label), members, held, seed)
        shares = {client: np.concatenate(held[client]) for client in ids}
        return assembled("classes", self, source, seed, shares, home)


def give(source: Source, label: int, members: list[ClientId], held: dict[ClientId, list[Index]], seed: int) -> None:
    """An equal share of a class to each of these clients."""
    positions = np.flatnonzero(source.train.labels == label)
    even = len(source.train.labels) // (source.classes * len(members))
    shares = equal_shares(positions, len(members), max(even, 1), generator(seed, "classes", "deal", label))
    if len(shares[0]) == 0:
        raise InputError(
            "more clients in a group than examples of a class",
            where="data.clients",
            got=f"{len(members)} clients, {len(positions)} examples of class {label}",
            need="at least one example of each class for each client",
            do="ask for fewer clients",
        )
    for client, share in zip(members, shares, strict=True):
        held[client].append(share)
