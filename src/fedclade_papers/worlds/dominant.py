"""Every client has all classes, some far more than others: ABC's three settings.

The paper names them 2C-1, 2C-2 and 5C and leaves the mixes to an appendix that is not available; these are ours. In
2C-1 one half of the clients has 90 % of its examples from the lower half of the classes, the other from the upper; in
2C-2 80 % from the even or the odd classes; in 5C one of five classes (0, 2, 4, ...) makes half of a client's examples.
The rest is spread evenly over the other classes. `dominance` gives another share.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.core import ClientId, InputError, generator, settings
from fedclade.data.examples import Index, Source
from fedclade.data.federation import Federation
from fedclade.data.shares import apportion, client_names, cut, plant_groups
from fedclade.data.worlds.spread import PositiveCount, WorldSettings, make_federation

Mix = Literal["2C-1", "2C-2", "5C"]
GROUPS: dict[Mix, int] = {"2C-1": 2, "2C-2": 2, "5C": 5}
DOMINANCE: dict[Mix, float] = {"2C-1": 0.9, "2C-2": 0.8, "5C": 0.5}


@settings
class Dominant(WorldSettings):
    """All classes for every client, some of them dominant in each group (ABC: 2C-1, 2C-2, 5C)."""

    clients: PositiveCount = 10
    """How many clients; ABC has 10 and 50."""
    mix: Mix = "2C-1"
    """Which classes are dominant: the lower or the upper half; the even or the odd ones; or one of five."""
    examples: PositiveCount = 500
    """Examples of each client, test share included."""
    dominance: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of a client's examples that is of its dominant classes; 0: that of the mix."""
    group_sizes: tuple[PositiveCount, ...] = ()
    """Counts or proportions of clients, as in any world with groups."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every client has exactly so many examples; no example is with two clients."""
        groups = GROUPS[self.mix]
        if source.classes < 2 * groups:
            got = str(source.classes)
            raise InputError("too few classes for the mix", where="data.mix", got=got, need=f"{2 * groups}")
        members = planted_members(self.mix, self.clients, seed, self.group_sizes)
        wanted: dict[ClientId, NDArray[np.int64]] = {}
        for group, clients in enumerate(members):
            wanted |= dict.fromkeys(
                clients, apportion(self.examples, class_shares(self.mix, group, source.classes, self.dominance))
            )
        there = np.bincount(source.train.labels, minlength=source.classes)
        needed = np.sum(list(wanted.values()), axis=0)
        if (needed > there).any():
            label = int(np.argmax(needed - there))
            got = f"{there[label]} examples of class {label}"
            do = "ask for fewer clients or examples"
            raise InputError(
                "too few examples for the clients", where="data.examples", got=got, need=f"{needed[label]}", do=do
            )
        ids = client_names(self.clients)
        held: dict[ClientId, list[Index]] = {client: [] for client in ids}
        for label in range(source.classes):
            rng = generator(seed, "dominant", "deal", label)
            parts = cut(np.flatnonzero(source.train.labels == label), [wanted[client][label] for client in ids], rng)
            for client, some in zip(ids, parts, strict=True):
                held[client].append(some)
        shares = {client: np.sort(np.concatenate(held[client])) for client in ids}
        return make_federation("dominant", self, source, seed, shares, members)


def planted_members(mix: Mix, clients: int, seed: int, sizes: Sequence[int] = ()) -> list[tuple[ClientId, ...]]:
    """The clients of each group."""
    return plant_groups(clients, GROUPS[mix], sizes, generator(seed, "dominant", "groups"))


def class_shares(mix: Mix, group: int, classes: int, dominance: float = 0.0) -> NDArray[np.float64]:
    """The share of each class in a group."""
    label = np.arange(classes)
    if mix == "2C-1":
        dominant = (label < classes // 2) == (group == 0)
    elif mix == "2C-2":
        dominant = label % 2 == group
    else:
        dominant = label == 2 * group
    weight = dominance or DOMINANCE[mix]
    share: NDArray[np.float64] = np.where(dominant, weight / dominant.sum(), (1 - weight) / (~dominant).sum())
    return share
