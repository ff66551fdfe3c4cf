"""Each group has classes of its own: FLT's scenario 1.

The classes, in random order, are cut into runs, one for each group. Within a group every client gets the same number
of examples of each of its classes, without replacement: what a class would give if all classes were as large, or less
where a class is small. (The authors' sampler pads short classes with copies of one image.)
"""

from collections import defaultdict

import numpy as np

from fedclade.core import ClientId, InputError, generator, settings
from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import plant_groups
from fedclade.data.worlds.spread import GroupedWorldSettings, give_equally, make_federation


@settings
class Classes(GroupedWorldSettings):
    """Each group has classes of its own (FLT, scenario 1)."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Clients of a group share its classes and no example."""
        if self.groups > source.classes:
            need = f"at most {source.classes}, the classes of {source.name}"
            raise InputError("more groups than classes", where="data.groups", got=str(self.groups), need=need)
        groups = plant_groups(self.clients, self.groups, self.group_sizes, generator(seed, "classes", "groups"))
        runs = np.array_split(generator(seed, "classes", "classes").permutation(source.classes), self.groups)
        held: dict[ClientId, list[Index]] = defaultdict(list)
        for members, classes in zip(groups, runs, strict=True):
            even = len(source.train.labels) // (source.classes * len(members))
            for label in map(int, classes):
                positions = np.flatnonzero(source.train.labels == label)
                shuffled = generator(seed, "classes", "deal", label).permutation(positions)
                give_equally(shuffled, label, max(even, 1), members, held)
        shares = {client: np.concatenate(parts) for client, parts in held.items()}
        return make_federation("classes", self, source, seed, shares, groups)
