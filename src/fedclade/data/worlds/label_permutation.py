"""The same images, but each group has other names for the classes: CFL, section V.

No one model can serve two groups, and inputs alone do not tell them apart.
"""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.data.federation import ClientData, Federation, Source
from fedclade.data.shares import Index, dealt_to, named, planted
from fedclade.nouns import Groups, InputError, generator, settings


@settings
class LabelPermutation:
    """Each group names the classes in its own way (CFL)."""

    clients: Annotated[int, Field(ge=1)] = 20
    groups: Annotated[int, Field(ge=1)] = 4
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of its own examples that a client is tested on."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Examples dealt at random; a random permutation of the labels for each group, train and test alike."""
        ids = named(self.clients)
        home = planted(ids, self.groups, generator(seed, "label-permutation", "groups"))
        names = distinct_permutations(source.classes, self.groups, generator(seed, "label-permutation", "names"))
        data = {
            client: ClientData(*(replace(part, relabel=names[home[client]]) for part in (held.train, held.test)))
            for client, held in dealt_to(ids, source.train, self.test, (seed, "label-permutation")).items()
        }
        return Federation(f"{source.name}, label-permutation", data, source.classes, truth=Groups.from_labels(home))


def distinct_permutations(classes: int, count: int, rng: np.random.Generator) -> list[Index]:
    """So many permutations of the classes, no two alike."""
    if count > math.factorial(classes):
        raise InputError(
            "more groups than ways to name the classes",
            where="data.groups",
            got=str(count),
            need=f"{classes}! or fewer",
        )
    found: dict[bytes, Index] = {}
    while len(found) < count:
        permutation = rng.permutation(classes).astype(np.int64)
        found.setdefault(permutation.tobytes(), permutation)
    return list(found.values())
