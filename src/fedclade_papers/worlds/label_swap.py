"""The same images, but each group has two labels exchanged, another pair in each: CFL's label-swap problem."""

import math

import numpy as np

from fedclade.core import InputError, generator, settings
from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.worlds.mixed import Skew, deal_in_groups
from fedclade.data.worlds.spread import GroupedWorldSettings, View, make_federation


@settings
class LabelSwap(GroupedWorldSettings):
    """Each group has two labels exchanged, another pair in each (CFL)."""

    skew: Skew = 0.0
    """Label skew inside the groups: a Dirichlet distribution's alpha, small for clients with few classes; 0: none."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Examples dealt at random; two labels exchanged in each group, train and test alike."""
        pairs = [(low, high) for high in range(source.classes) for low in range(high)]
        if self.groups > len(pairs):
            need = f"at most {math.comb(source.classes, 2)}"
            raise InputError("more groups than pairs of classes", where="data.groups", got=str(self.groups), need=need)
        shares, groups = deal_in_groups("label-swap", self, self.skew, source, seed)
        chosen = generator(seed, "label-swap", "pairs").choice(len(pairs), size=self.groups, replace=False)
        views = []
        for number in chosen:
            relabel = np.arange(source.classes)
            relabel[list(pairs[number])] = relabel[list(pairs[number][::-1])]
            views.append(View(relabel=relabel))
        return make_federation("label-swap", self, source, seed, shares, groups, views)
