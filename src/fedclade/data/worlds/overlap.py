"""Three classes a group, in a ring: neighbours share one. FLT's scenario 2.

Group g has the classes 2g, 2g + 1 and 2g + 2 of a random order, the last one closing the ring. No image is with two
clients: a shared class gives one half of its examples to each side. The authors' sampler gives both sides the same
images; `shared = "same"` does that, and with own test shares a client is then tested on images that others learn from.
"""

from typing import Literal

import numpy as np

from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import named, planted
from fedclade.data.worlds.spread import GroupedClients, assembled
from fedclade.nouns import ClientId, InputError, generator, settings


@settings
class Overlap(GroupedClients):
    """Three classes a group in a ring, neighbours share one (FLT, scenario 2)."""

    groups: int = 5
    shared: Literal["halves", "same"] = "halves"
    """A shared class: one half of its images for each side, or the same images for both (as published)."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every client of a group has the same number of examples of each of its three classes."""
        if self.groups < 3 or 2 * self.groups > source.classes:
            raise InputError(
                "the ring does not fit the classes",
                where="data.groups",
                got=str(self.groups),
                need=f"3 to {source.classes // 2}: two classes of {source.name} for each group",
            )
        ids = named(self.clients)
        home = planted(ids, self.groups, self.group_sizes, generator(seed, "overlap", "groups"))
        ring = generator(seed, "overlap", "classes").permutation(source.classes)[: 2 * self.groups]
        members = [[client for client in ids if home[client] == group] for group in range(self.groups)]
        held: dict[ClientId, list[Index]] = {client: [] for client in ids}
        for place, label in enumerate(ring):
            positions = np.flatnonzero(source.train.labels == label)
            shuffled = generator(seed, "overlap", "deal", int(label)).permutation(positions)
            here = place // 2
            if place % 2:  # the group's own class
                sides = [(here, shuffled)]
            elif self.shared == "same":
                sides = [(here, shuffled), ((here - 1) % self.groups, shuffled)]
            else:
                sides = [(here, shuffled[::2]), ((here - 1) % self.groups, shuffled[1::2])]
            for group, some in sides:
                self.give(source, some, members[group], own=bool(place % 2), held=held)
        shares = {client: np.sort(np.concatenate(held[client])) for client in ids}
        return assembled("overlap", self, source, seed, shares, home)

    def give(
        self, source: Source, some: Index, members: list[ClientId], *, own: bool, held: dict[ClientId, list[Index]]
    ) -> None:
        """Equal slices of these positions, at most what the class would give if all were as large."""
        even = len(source.train.labels) // (source.classes * len(members))  # one class among one group
        most = 2 * even // 3 if self.shared == "same" else even if own else even // 2
        size = min(len(some) // len(members), most)
        if size == 0:
            raise InputError(
                "more clients in a group than examples of a class",
                where="data.clients",
                got=f"{len(members)} clients, {len(some)} examples",
                need="at least one example of each class for each client",
                do="ask for fewer clients",
            )
        for number, client in enumerate(members):
            held[client].append(some[number * size : (number + 1) * size])
