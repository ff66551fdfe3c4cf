"""The recipe of a federation, the table [data] of an experiment: a source, a world, and changes that go over it.

    [data]
    source = "mnist"
    world = "classes"            # its settings stand beside it
    clients = 100
    groups = 5

    [data.drift]                 # optional: some clients' data change
    round = 10

    [data.newcomers]             # optional: some clients join late
    rounds = [5, 10]

    [data.fewer]                 # optional: every client learns from at most so many examples
    examples = 100

A user's own files bring their clients with them:

    [data]
    source = "own"
    path = "sites.csv"           # or a folder with an entry for each client
    client = "site"
    label = "fault"

A fleet of real sites holds its examples itself; the server knows their form:

    [data]
    source = "sites"
    shape = [28, 28]
    classes = 10

or, where sites have tables, which column is the label; how columns become inputs is found out from what sites tell:

    [data]
    source = "sites"
    label = "fault"
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from fedclade.core import InputError
from fedclade.core.settings import build_settings, settings_table
from fedclade.core.settings_help import list_settings, summary_of
from fedclade.data.federation import Federation
from fedclade.data.own import OwnData
from fedclade.data.registry import WORLDS, World, source_named
from fedclade.data.sites import Sites, SiteTables
from fedclade.data.worlds.drift import Drift
from fedclade.data.worlds.fewer import Fewer
from fedclade.data.worlds.newcomers import Newcomers

OWN_FILES = "own"  # the source that is files of the user
SITES = "sites"  # the source that is a fleet's own
FIRST_KEYS = ("path", "client", "label")  # of [data]: what a reader looks for


class Modifier(Protocol):
    """Something that goes over a world: frozen settings, and one function."""

    @property
    def last_round(self) -> int:
        """The last round in which something changes."""
        ...

    def apply(self, federation: Federation, seed: int) -> Federation:
        """The same federation with the change in it."""
        ...


# In this order: drift looks at which clients are there, and exchanges the examples that they kept.
MODIFIERS: dict[str, type[Modifier]] = {"fewer": Fewer, "newcomers": Newcomers, "drift": Drift}


@dataclass(frozen=True)
class Recipe:
    """All settings of a federation, but for the seed."""

    source: str
    world: str
    """Empty where the data bring their clients."""
    data_settings: World | OwnData | Sites | SiteTables
    modifiers: tuple[tuple[str, Modifier], ...]

    def federation(self, seed: int, prepare: Callable[[Federation], Federation] | None = None) -> Federation:
        """The federation of this seed. `prepare` makes inputs of the rows of a table; without it they are none yet."""
        if isinstance(self.data_settings, Sites | SiteTables):
            need, do = "a source that this machine has", "run it as a Flower app: see fedclade deploy init"
            raise InputError("the data are at the sites", where="data.source", got=f'"{SITES}"', need=need, do=do)
        if isinstance(self.data_settings, OwnData):
            made = self.data_settings.federation(seed)
        else:
            made = self.data_settings.spread(source_named(self.source).load(), seed)
        for _, change in self.modifiers:
            made = change.apply(made, seed)
        return prepare(made) if prepare else made

    def check_rounds(self, rounds: int, where: str = "data") -> None:
        """An error if something would change after the last round."""
        for name, change in self.modifiers:
            if change.last_round > rounds:
                got, need = f"round {change.last_round}", f"at most {rounds}, run.rounds"
                raise InputError(f"{name} comes after the last round", where=f"{where}.{name}", got=got, need=need)

    def table(self) -> dict[str, object]:
        """The whole recipe as [data], defaults filled in."""
        world = {"world": self.world} if self.world else {}
        modifiers = {name: settings_table(change) for name, change in self.modifiers}
        settings = settings_table(self.data_settings)
        first = {name: settings[name] for name in FIRST_KEYS if name in settings}
        return {"source": self.source, **world, **first, **settings, **modifiers}


def read_recipe(table: Mapping[str, object], where: str = "data") -> Recipe:
    """The recipe of a [data] table; everything that can be known without the examples is checked."""
    source = required_text(table, "source", where, do="fedclade data list")
    modifiers: list[tuple[str, Modifier]] = []
    for name, kind in MODIFIERS.items():
        if name in table:
            values = table[name]
            if not isinstance(values, Mapping):
                got = repr(values)
                raise InputError(f"{where}.{name} is not a table", where=where, got=got, need=f"[{where}.{name}]")
            modifiers.append((name, build_settings(kind, values, where=f"{where}.{name}")))
    rest = {name: value for name, value in table.items() if name not in ("source", "world", *MODIFIERS)}
    if source in (OWN_FILES, SITES) and "world" in table:
        got = repr(table["world"])
        raise InputError(f"{where}.world has no use", where=where, got=got, need="none: own data bring their clients")
    if source == SITES:
        if modifiers:
            need = "none: sites change by themselves"
            raise InputError(f"{where}.{modifiers[0][0]} has no use", where=where, need=need)
        if "label" in rest:
            return Recipe(source, "", build_settings(SiteTables, rest, where=where), ())
        return Recipe(source, "", build_settings(Sites, rest, where=where), ())
    if source == OWN_FILES:
        if isinstance(rest.get("path"), str) and rest["path"]:
            rest["path"] = os.path.abspath(str(rest["path"]))  # so that a run can be resumed from anywhere
        return Recipe(source, "", build_settings(OwnData, rest, where=where), tuple(modifiers))
    source_named(source)
    world = required_text(table, "world", where, do="fedclade worlds")
    known = WORLDS.find(world, "data.world")
    return Recipe(source, world, build_settings(known, rest, where=where), tuple(modifiers))


def build(*, source: str, world: str = "", seed: int = 0, **settings: object) -> Federation:
    """The federation of a source spread by a world; the world's own settings stand beside it.

    source      where examples come from: a name of `fedclade data list`
    world       how they are spread over clients: a name of `fedclade worlds`
    seed        decides what is drawn

    `fewer`, `newcomers` and `drift` are mappings of their settings: `build(..., drift={"round": 10})`.
    """
    if type(seed) is not int or seed < 0:
        raise InputError("the seed is not usable", where="seed", got=repr(seed), need="a whole number, 0 or more")
    if source == OWN_FILES:
        do = "fc.data.from_file(path, client=..., label=...), or fc.data.from_folder(path)"
        raise InputError("own files are no world", where="source", got=repr(source), need="a source", do=do)
    return read_recipe({"source": source, **({"world": world} if world else {}), **settings}).federation(seed)


for each, kind in {**WORLDS.registered_entries, **MODIFIERS}.items():
    list_settings(f"Settings of {each}, with their defaults. {summary_of(kind)}", kind)(build)


def required_text(table: Mapping[str, object], key: str, where: str, do: str) -> str:
    """A name that the table must have."""
    if key not in table:
        raise InputError(f"{where}.{key} is missing", where=where, need="a name", do=f"see {do}")
    value = table[key]
    if not isinstance(value, str):
        raise InputError(f"{where}.{key} is not text", where=where, got=repr(value), need="a name in quotes")
    return value
