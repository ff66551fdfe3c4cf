"""Groups of classes, and clients of very different sizes: FLT's scenario 4, its Algorithm 4.

The classes are cut in their order into groups of five; the last group has what is left. Within a group of M_c clients
and |D_c| examples, client m has n_m = alpha + exp(beta m^delta) examples, with alpha = |D_c| / (2 M_c) rounded down,
delta = 2, and beta the root for which the sizes add up. Every example is used once; what rounding leaves is spread.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError, generator, settings
from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import cut, plant_groups
from fedclade.data.worlds.spread import GroupedWorldSettings, PositiveCount, check_enough, make_federation

DELTA = 2  # how fast sizes grow with the client's number


@settings
class Structured(GroupedWorldSettings):
    """Groups of classes with power-law sizes inside (FLT, scenario 4)."""

    clients: PositiveCount = 240
    """How many clients; FLT has 2,400, 600 and 240."""
    groups: PositiveCount = 10
    """How many planted groups: the classes over `classes_each`, rounded up."""
    classes_each: PositiveCount = 5
    """Classes of a group; the last group has what is left."""
    padded: bool = False
    """The last group is tested on class 0 too, which it never trains on: a defect of FLT's published code."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client of the group that its class belongs to."""
        fitting = -(-source.classes // self.classes_each)
        if self.groups != fitting:
            got = f"{self.groups} groups of {self.classes_each} classes"
            need = f"{fitting} groups for the {source.classes} classes of {source.name}"
            raise InputError("the groups do not fit the classes", where="data.groups", got=got, need=need)
        if self.padded and self.test_on != "group":
            got = f'test_on = "{self.test_on}"'
            raise InputError("padded has no use", where="data.padded", got=got, need='"group"')
        groups = plant_groups(self.clients, self.groups, self.group_sizes, generator(seed, "structured", "groups"))
        shares: dict[ClientId, Index] = {}
        for group, members in enumerate(groups):
            positions = np.flatnonzero(source.train.labels // self.classes_each == group)
            check_enough(len(positions), len(members), f" in group {group}")
            sizes = power_law(len(positions), len(members))
            parts = cut(positions, sizes, generator(seed, "structured", "deal", group))
            shares.update(zip(members, parts, strict=True))
        made = make_federation("structured", self, source, seed, shares, groups)
        return add_class_0_tests(made, groups[-1]) if self.padded else made


def add_class_0_tests(federation: Federation, clients: Sequence[ClientId]) -> Federation:
    """The same with the test examples of class 0 among those of these clients."""
    data = dict(federation.data)
    for client in clients:
        tested = data[client].test
        more = np.union1d(tested.index, np.flatnonzero(tested.pool.labels == 0))
        data[client] = replace(data[client], test=replace(tested, index=more))
    return replace(federation, data=data)


def power_law(total: int, clients: int) -> NDArray[np.int64]:
    """The sizes n_1 <= ... <= n_M of Algorithm 4; they add up to the total."""
    alpha = total // (2 * clients)
    growth = np.arange(1, clients + 1, dtype=np.float64) ** DELTA

    def excess(beta: float) -> float:
        return float((alpha + np.exp(beta * growth)).sum() - total)

    largest = np.log(total) / growth[-1]  # then the last client alone has all of them
    from scipy.optimize import brentq  # 0.4 s: a site that starts for every message does not need it

    beta = brentq(excess, -700 / growth[-1], largest, xtol=1e-15) if excess(-700 / growth[-1]) < 0 else 0.0
    sizes = np.floor(alpha + np.exp(beta * growth)).astype(np.int64)
    left = total - int(sizes.sum())
    sizes += left // clients
    sizes[: left % clients] += 1
    return np.sort(sizes)
