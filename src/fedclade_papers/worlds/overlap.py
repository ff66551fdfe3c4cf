"""Three classes a group, in a ring: neighbours share one. FLT's scenario 2.

Group g has the classes 2g, 2g + 1 and 2g + 2 of a random order, the last one closing the ring. No image is with two
clients: a shared class gives one half of its examples to each side. The authors' sampler gives both sides the same
images; `shared = "same"` does that, and with own test shares a client is then tested on images that others learn from.
"""

from collections import defaultdict
from typing import Literal

import numpy as np

from fedclade.core import ClientId, InputError, generator, settings
from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import plant_groups
from fedclade.data.worlds.spread import GroupedWorldSettings, give_equally, make_federation


@settings
class Overlap(GroupedWorldSettings):
    """Three classes a group in a ring, neighbours share one (FLT, scenario 2)."""

    groups: int = 5
    """How many planted groups: one for every two classes."""
    shared: Literal["halves", "same"] = "halves"
    """A shared class: one half of its images for each side, or the same images for both (as published)."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every client of a group has the same number of examples of each of its three classes."""
        if self.groups < 3 or 2 * self.groups > source.classes:
            need = f"3 to {source.classes // 2}: two classes of {source.name} for each group"
            raise InputError("the ring does not fit the classes", where="data.groups", got=str(self.groups), need=need)
        groups = plant_groups(self.clients, self.groups, self.group_sizes, generator(seed, "overlap", "groups"))
        ring = generator(seed, "overlap", "classes").permutation(source.classes)[: 2 * self.groups]
        held: dict[ClientId, list[Index]] = defaultdict(list)
        for place, label in enumerate(map(int, ring)):
            positions = np.flatnonzero(source.train.labels == label)
            shuffled = generator(seed, "overlap", "deal", label).permutation(positions)
            here, own = place // 2, bool(place % 2)
            if own:
                sides = [(here, shuffled)]
            elif self.shared == "same":
                sides = [(here, shuffled), (here - 1, shuffled)]
            else:
                sides = [(here, shuffled[::2]), (here - 1, shuffled[1::2])]
            for group, some in sides:  # the group before the first is the last: the ring closes
                even = len(source.train.labels) // (source.classes * len(groups[group]))  # one class among one group
                max_size = 2 * even // 3 if self.shared == "same" else even if own else even // 2
                give_equally(some, label, max_size, groups[group], held)
        shares = {client: np.sort(np.concatenate(parts)) for client, parts in held.items()}
        return make_federation("overlap", self, source, seed, shares, groups)
