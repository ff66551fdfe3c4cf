"""The sources and worlds that fedclade knows, by name, and how one builds a federation from them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fedclade.data.federation import Federation, Source
from fedclade.data.sources.digits import digits
from fedclade.data.worlds.classes import Classes
from fedclade.data.worlds.iid import IID
from fedclade.data.worlds.label_permutation import LabelPermutation
from fedclade.data.worlds.rotation import Rotation
from fedclade.nouns import InputError
from fedclade.nouns.settings import made_from, unknown


class World(Protocol):
    """How examples are spread over clients: frozen settings, and one function."""

    def spread(self, source: Source, seed: int) -> Federation:
        """The federation that these settings and this seed give."""
        ...


@dataclass(frozen=True)
class KnownSource:
    """A source by its name: what it is, and how to load it."""

    summary: str
    load: Callable[[], Source]


SOURCES: dict[str, KnownSource] = {
    "digits": KnownSource("1,797 hand-written digits, 8 x 8, 10 classes (scikit-learn; nothing is fetched)", digits),
}

WORLDS: dict[str, type[World]] = {
    "iid": IID,
    "classes": Classes,
    "label-permutation": LabelPermutation,
    "rotation": Rotation,
}


def source_named(name: str) -> KnownSource:
    """The source of this name."""
    if name not in SOURCES:
        raise unknown("the source", "data.source", name, SOURCES)
    return SOURCES[name]


def world_named(name: str) -> type[World]:
    """The world of this name."""
    if name not in WORLDS:
        raise unknown("the world", "data.world", name, WORLDS)
    return WORLDS[name]


def build(*, source: str, world: str, seed: int = 0, **settings: object) -> Federation:
    """The federation of a source spread by a world; the world's own settings stand beside it."""
    made = made_from(world_named(world), settings, where="data")
    if type(seed) is not int or seed < 0:
        raise InputError("the seed is not usable", where="seed", got=repr(seed), need="a whole number, 0 or more")
    return made.spread(source_named(source).load(), seed)
