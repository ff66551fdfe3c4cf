"""How a federation is made, as an experiment's [data] says it: a source, a world, and what goes over it.

    [data]
    source = "mnist"
    world = "classes"            # its settings stand beside it
    clients = 100
    groups = 5

    [data.drift]                 # optional: some clients' data change
    round = 10

    [data.newcomers]             # optional: some clients join late
    rounds = [5, 10]

    [data.fewer]                 # optional: everybody learns from so many examples at the most
    examples = 100

A user's own files bring their clients with them:

    [data]
    source = "own"
    path = "sites.csv"           # or a folder with an entry for each client
    client = "site"
    label = "fault"

A fleet of real sites holds its examples itself; the server is told their form:

    [data]
    source = "sites"
    shape = [28, 28]
    classes = 10
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from fedclade.data.federation import Federation
from fedclade.data.own import OwnData
from fedclade.data.registry import World, source_named, world_named
from fedclade.data.sites import Sites
from fedclade.data.worlds.drift import Drift
from fedclade.data.worlds.fewer import Fewer
from fedclade.data.worlds.newcomers import Newcomers
from fedclade.nouns import InputError
from fedclade.nouns.settings import made_from, plain

FILES = "own"  # the source that is files of the user
SITES = "sites"  # the source that is a fleet's own


class Over(Protocol):
    """Something that goes over a world: frozen settings, and one function."""

    @property
    def last(self) -> int:
        """The last round in which something changes."""
        ...

    def over(self, federation: Federation, seed: int) -> Federation:
        """The same federation with the change in it."""
        ...


# Drift knows who is there, and exchanges what clients have kept.
OVER: dict[str, type[Over]] = {"fewer": Fewer, "newcomers": Newcomers, "drift": Drift}


@dataclass(frozen=True)
class Recipe:
    """All that it takes, but the seed."""

    source: str
    world: str
    spread: World | OwnData | Sites
    over: tuple[tuple[str, Over], ...]

    def federation(self, seed: int) -> Federation:
        """The federation of this seed."""
        if isinstance(self.spread, Sites):
            raise InputError(
                "the data are at the sites",
                where="data.source",
                got=f'"{SITES}"',
                need="a source that this machine has",
                do="run it as a Flower app: see fedclade deploy init",
            )
        if isinstance(self.spread, OwnData):
            made = self.spread.federation(seed)
        else:
            made = self.spread.spread(source_named(self.source).load(), seed)
        for _, change in self.over:
            made = change.over(made, seed)
        return made

    def check_rounds(self, rounds: int, where: str = "data") -> None:
        """An error if something would change after the last round."""
        for name, change in self.over:
            if change.last > rounds:
                raise InputError(
                    f"{name} comes after the last round",
                    where=f"{where}.{name}",
                    got=f"round {change.last}",
                    need=f"at most {rounds}, run.rounds",
                )

    def table(self) -> dict[str, object]:
        """The whole recipe as [data], defaults filled in."""
        names = (
            {"source": self.source}
            if isinstance(self.spread, OwnData | Sites)
            else {"source": self.source, "world": self.world}
        )
        return {**names, **plain(self.spread), **{name: plain(change) for name, change in self.over}}


def read_recipe(table: Mapping[str, object], where: str = "data") -> Recipe:
    """The recipe of a [data] table; everything that can be known without the examples is checked."""
    source = text(table, "source", where, do="fedclade data list")
    over: list[tuple[str, Over]] = []
    for name, kind in OVER.items():
        if name in table:
            values = table[name]
            if not isinstance(values, Mapping):
                raise InputError(
                    f"{where}.{name} is not a table", where=where, got=repr(values), need=f"[{where}.{name}]"
                )
            over.append((name, made_from(kind, values, where=f"{where}.{name}")))
    rest = {name: value for name, value in table.items() if name not in ("source", "world", *OVER)}
    if source in (FILES, SITES) and "world" in table:
        raise InputError(
            f"{where}.world has no use",
            where=where,
            got=repr(table["world"]),
            need="none: own data bring their clients",
        )
    if source == SITES:
        if over:
            raise InputError(f"{where}.{over[0][0]} has no use", where=where, need="none: sites change by themselves")
        return Recipe(source, "", made_from(Sites, rest, where=where), ())
    if source == FILES:
        if isinstance(rest.get("path"), str) and rest["path"]:
            rest["path"] = os.path.abspath(str(rest["path"]))  # so that a run can be resumed from anywhere
        return Recipe(source, "", made_from(OwnData, rest, where=where), tuple(over))
    source_named(source)
    world = text(table, "world", where, do="fedclade worlds")
    return Recipe(source, world, made_from(world_named(world), rest, where=where), tuple(over))


def build(*, source: str, world: str = "", seed: int = 0, **settings: object) -> Federation:
    """The federation of a source spread by a world; the world's own settings stand beside it.

    `fewer`, `newcomers` and `drift` are mappings of their settings: `build(..., drift={"round": 10})`.
    """
    if type(seed) is not int or seed < 0:
        raise InputError("the seed is not usable", where="seed", got=repr(seed), need="a whole number, 0 or more")
    return read_recipe({"source": source, **({"world": world} if world else {}), **settings}).federation(seed)


def text(table: Mapping[str, object], key: str, where: str, do: str) -> str:
    """A name that must be there."""
    if key not in table:
        raise InputError(f"{where}.{key} is missing", where=where, need="a name", do=f"see {do}")
    value = table[key]
    if not isinstance(value, str):
        raise InputError(f"{where}.{key} is not text", where=where, got=repr(value), need="a name in quotes")
    return value
