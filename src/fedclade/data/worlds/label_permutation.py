"""The same images, but each group has other names for the classes: CFL, section V.

No one model can serve two groups, and inputs alone do not tell them apart.
"""

import math

import numpy as np

from fedclade.core import InputError, generator, settings
from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.worlds.mixed import Skew, deal_in_groups
from fedclade.data.worlds.spread import GroupedWorldSettings, View, make_federation


@settings
class LabelPermutation(GroupedWorldSettings):
    """Each group names the classes in its own way (CFL)."""

    skew: Skew = 0.0
    """Label skew inside the groups: a Dirichlet distribution's alpha, small for clients with few classes; 0: none."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Examples dealt at random; a random permutation of the labels for each group, train and test alike."""
        names = distinct_permutations(source.classes, self.groups, generator(seed, "label-permutation", "names"))
        shares, groups = deal_in_groups("label-permutation", self, self.skew, source, seed)
        views = [View(relabel=each) for each in names]
        return make_federation("label-permutation", self, source, seed, shares, groups, views)


def distinct_permutations(classes: int, count: int, rng: np.random.Generator) -> list[Index]:
    """So many permutations of the classes, no two alike."""
    if count > math.factorial(classes):
        need = f"{classes}! or fewer"
        raise InputError("more groups than ways to name the classes", where="data.groups", got=str(count), need=need)
    found: dict[bytes, Index] = {}
    while len(found) < count:
        permutation = rng.permutation(classes).astype(np.int64)
        found.setdefault(permutation.tobytes(), permutation)
    return list(found.values())
