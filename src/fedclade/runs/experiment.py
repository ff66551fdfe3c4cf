"""An experiment: one TOML file, checked and with every default filled in before any work starts."""

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import tomli_w
from pydantic import Field

from fedclade.core import InputError, LocalTraining, NameTaken, settings
from fedclade.core.settings import build_settings, names_of, settings_table, unknown_name_error
from fedclade.core.training import local_training
from fedclade.data import Federation
from fedclade.data.load import prepare
from fedclade.data.own import OwnData
from fedclade.data.recipe import SITES, Recipe, read_recipe
from fedclade.data.sites import SiteTables
from fedclade.methods import METHODS, AnyMethod, Selection, method_named, name_of
from fedclade.runs.defaults import Section, own_defaults, says_all, with_defaults
from fedclade.runs.lr_values import AUTO, with_search
from fedclade.runs.run_settings import RunSettings
from fedclade.runs.target import NO_TARGET, MetricTarget

if TYPE_CHECKING:
    from fedclade.nets.start_weights import StartWeights

SettingsTable = Mapping[str, object]
MAX_FILE_BYTES = 2**20  # bytes; an experiment is a page of text


@settings
class EngineSettings:
    """Worker processes of this machine are the clients."""

    name: Literal["simulated"] = "simulated"
    """In TOML it says which engine this is."""
    workers: Annotated[int, Field(ge=0, le=256)] = 2
    """Processes, one thread each; 0: none but this one. The result does not depend on it."""
    path: Literal["auto", "general"] = "auto"
    """How clients train: the fastest way for the net, or `general`: torch's autograd. They agree to rounding."""
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    """Where the general path computes: on the processor, on a graphics card, which then trains everything, or `auto`:
    on a card if there is one, but what a faster path can train stays on the processor."""


Seconds = Annotated[float, Field(gt=0, le=10**7)]


@settings
class FlowerSettings:
    """Flower carries the messages: to its own simulation on Ray, or to real sites."""

    name: Literal["flower"] = "flower"
    """In TOML it says which engine this is."""
    workers: Annotated[int, Field(ge=1, le=256)] = 2
    """Simulation: Ray's processes, one thread each. The result does not depend on it."""
    ray: str = ""
    """Simulation: the address of a Ray cluster to join, for several machines; empty: this machine."""
    clients: Annotated[int, Field(ge=1, le=10**6)] = 2
    """Sites: the first round waits until so many have enrolled."""
    wait_seconds: Seconds = 600.0
    """How long to wait for clients before the run stops; it can be resumed."""
    train_seconds: Seconds = 600.0
    """The deadline of `train`, `train_mean` and `train_best`: a reply that takes longer is missing."""
    losses_seconds: Seconds = 600.0
    """The same for `losses`."""
    evaluate_seconds: Seconds = 600.0
    """The same for `evaluate`."""
    sketch_seconds: Seconds = 600.0
    """The same for whatever a client tells of its data: sketches, moments, columns."""
    enrol_seconds: Seconds = 120.0
    """How long a node may take to say its name; the run does not wait for it."""


ENGINES: dict[str, type[EngineSettings] | type[FlowerSettings]] = {
    "simulated": EngineSettings,
    "flower": FlowerSettings,
}
DEFAULT_NAMES = {"net": "mlp", "method": "fedavg", "engine": "simulated"}
SECTIONS = ("data", "net", "local", "method", "run", "engine")
PYTHON = "python"  # the source, or the net, was given as a Python object and cannot be read from the file


@dataclass(frozen=True)
class Experiment:
    """All settings of a run."""

    data: SettingsTable
    """`source`, `world`, and the world's settings."""
    method: AnyMethod
    net: SettingsTable = field(default_factory=lambda: {"name": "mlp"})
    """`name`, and the net's settings."""
    local: LocalTraining = field(default_factory=LocalTraining)
    lr_values: tuple[float, ...] = ()
    """The step sizes that the run chooses from; empty: that of `local` is given."""
    run: RunSettings = field(default_factory=RunSettings)
    engine: EngineSettings | FlowerSettings = field(default_factory=EngineSettings)
    selection: Selection = field(default_factory=Selection)
    """Which clients take part in a round; in TOML its keys stand beside the method's own."""
    compare: MetricTarget = NO_TARGET
    """What a comparison looks for; a run alone has no use for it."""
    start_weights: "StartWeights | None" = None
    """The weights to start from, where they were given in Python."""

    @property
    def method_name(self) -> str:
        return name_of(self.method)

    @property
    def source(self) -> str:
        return str(self.data["source"])

    def federation(self) -> Federation:
        """The clients with their examples."""
        if self.source == PYTHON:
            do = "give it in Python: fedclade.train(federation, ...), fedclade.resume(run, federation=...)"
            raise InputError("the data are a Python object", where="data.source", need="the same federation", do=do)
        return read_recipe(self.data).federation(self.run.seed, prepare)

    def toml(self) -> str:
        """The whole experiment as TOML: reading it gives the same experiment."""
        tables: dict[str, Mapping[str, object]] = {
            "data": dict(self.data),
            "net": dict(self.net),
            "local": {**settings_table(self.local), **({"lr": self.lr_values} if self.lr_values else {})},
            "method": {"name": self.method_name, **settings_table(self.method), **selection_table(self.selection)},
            "run": settings_table(self.run),
            "engine": settings_table(self.engine),
            **({} if self.compare == NO_TARGET else {"compare": settings_table(self.compare)}),
        }
        return tomli_w.dumps({name: toml_table(table) for name, table in tables.items()})

    def with_seed(self, seed: int) -> "Experiment":
        """The same with another seed."""
        return replace(self, run=replace(self.run, seed=seed))


def with_absolute_start(run: RunSettings, start_from: str) -> RunSettings:
    """The same with this file to start from, by a path that holds wherever the run is resumed."""
    return replace(run, start_from=os.path.abspath(start_from))


def toml_table(table: Mapping[str, object]) -> dict[str, object]:
    """A table as TOML can hold it: no None, lists for tuples, tables in tables."""
    return {
        name: list(value) if isinstance(value, tuple) else toml_table(value) if isinstance(value, Mapping) else value
        for name, value in table.items()
        if value is not None
    }


def read_experiment(
    path: Path, changes: Sequence[str] = (), seed: int | None = None, own: SettingsTable = MappingProxyType({})
) -> Experiment:
    """The experiment of a TOML file, with `--set` changes (`a.b=c`), a seed, and keys of `[data]` laid over it."""
    try:
        size = path.stat().st_size if path.is_file() else -1
    except OSError:  # a name that cannot be one
        size = -1
    if size < 0:
        raise InputError("there is no such experiment", where=str(path), need="a TOML file")
    if size > MAX_FILE_BYTES:
        raise InputError("the experiment is too large", where=str(path), got=f"{size} bytes", need="at most 1 MiB")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("the experiment is not TOML", where=str(path), got=str(error), need="valid TOML") from None
    apply_changes(tables, [*changes, *([] if seed is None else [f"run.seed={seed}"])])
    if own and isinstance(data := tables.setdefault("data", {}), dict):
        data.update(own)
    try:
        return experiment_from(tables, where=str(path))
    except NameTaken:
        raise
    except InputError as error:
        place = error.where if str(path) in error.where else f"{path}, {error.where}"
        raise InputError(error.what, where=place, got=error.got, need=error.need, do=error.do) from None


def apply_changes(tables: dict[str, object], changes: Iterable[str]) -> None:
    """Put changes into the tables, in whatever order they were given: names of methods first, then kinds of tables.

    Another method or kind takes the settings of the old one with it, so that its own must come after it.
    """

    def rank(change: str) -> tuple[bool, int, bool]:
        path = change.partition("=")[0].strip().split(".")
        return path[1:] != ["name"], len(path), path[-1] != "kind"

    for change in sorted(changes, key=rank):
        apply_change(tables, change)


def apply_change(tables: dict[str, object], change: str) -> None:
    """Put one `section.key=value` into the tables. The value is TOML, or else text."""
    name, equals, text = change.partition("=")
    *sections, key = name.strip().split(".")
    if not equals or not sections or not all((*sections, key)):
        raise InputError("a change is not usable", where="--set", got=f'"{change}"', need="section.key=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text.strip()
    table = tables
    for section in sections:
        inner = table.setdefault(section, {})
        if isinstance(inner, bool):  # a table that was asked for with its defaults
            inner = table[section] = {}
        if isinstance(inner, str) and table is not tables:  # a nested table that was given by its kind alone
            inner = table[section] = {"kind": inner}
        if not isinstance(inner, dict):
            got = f'"{change}"'
            raise InputError(f"{section} is not a section", where="--set", got=got, need="a table in the file")
        table = inner
    chooses = key == ("name" if len(sections) == 1 else "kind") and sections[0] != "data"
    if chooses and table.get(key, DEFAULT_NAMES.get(name.strip().removesuffix(".name"), value)) != value:
        table.clear()  # another method, net or signature: the settings of the old one mean nothing to it
    table[key] = value


def experiment_from(tables: Mapping[str, object], where: str = "the experiment") -> Experiment:
    """The experiment of these tables; everything that can be checked is checked."""
    for name, table in tables.items():
        if name not in (*SECTIONS, "compare"):
            raise unknown_name_error(f"section [{name}]", where, name, (*SECTIONS, "compare"))
        if not isinstance(table, Mapping):
            raise InputError(f"{name} is not a section", where=where, got=repr(table), need=f"[{name}]")
    data = section(tables, "data")
    recipe = None if data.get("source") == PYTHON else read_recipe(data)
    sections = {name: section(tables, name) for name in SECTIONS}
    lr = sections["local"].get("lr")
    if lr == AUTO:
        sections["local"] = without_keys(sections["local"], "lr")  # for the default of the data, around which it looks
    whole = with_defaults(sections, recipe_defaults(recipe, sections["engine"], sections["local"]))
    net, local, method, run, engine = (whole[name] for name in SECTIONS if name != "data")
    plan = build_settings(RunSettings, run, where="run")
    if plan.start_from not in ("", PYTHON):
        plan = with_absolute_start(plan, plan.start_from)
    if recipe is not None:
        recipe.check_rounds(plan.rounds)
        data = recipe.table()
    if net.get("name") != PYTHON:
        from fedclade.nets.registry import architecture_named  # 2 s: only where a net is asked for

        name = text_value({"name": DEFAULT_NAMES["net"], **net}, "name", "net")
        architecture = build_settings(architecture_named(name), without_keys(net, "name"), where="net")
        net = {"name": name, **settings_table(architecture)}
    engine_name = text_value({"name": DEFAULT_NAMES["engine"], **engine}, "name", "engine")
    if engine_name not in ENGINES:
        raise unknown_name_error("the engine", "engine.name", engine_name, ENGINES)
    if data["source"] == SITES and engine_name != "flower":
        got, need = f'"{engine_name}"', '"flower", see deploy init'
        raise InputError("data at sites need Flower", where="engine.name", got=got, need=need)
    made, selection = method_from({"name": DEFAULT_NAMES["method"], **method})
    local, lr_values = with_search(local, lr)
    return Experiment(
        data=data,
        net=net,
        local=local_training(local, where="local"),
        lr_values=lr_values,
        method=made,
        run=plan,
        engine=build_settings(ENGINES[engine_name], engine, where="engine"),
        selection=selection,
        compare=build_settings(MetricTarget, section(tables, "compare"), where="compare"),
    )


def recipe_defaults(
    recipe: Recipe | None, engine: SettingsTable, local: SettingsTable
) -> Mapping[Section, SettingsTable]:
    """What sections have where nothing is said: of a user's own data what trains well on such.

    Data are read only where they decide: what a run has stored is complete, and says all of this.
    """
    if recipe is not None and isinstance(recipe.data_settings, SiteTables):
        sites = engine.get("clients", FlowerSettings().clients)
        raw = recipe.data_settings.prepare == "none"
        return own_defaults(
            "table",
            sites if isinstance(sites, int) else 0,
            task="regression" if recipe.data_settings.task == "regression" else "classification",
            at_sites=True,
            raw=raw,
        )
    if recipe is not None and isinstance(recipe.data_settings, OwnData):
        own = recipe.data_settings
        task = "classification" if says_all(local) else own.task_kind
        return own_defaults(own.kind, own.image_clients(), task=task, raw=own.prepare == "none")
    return {}


def method_from(table: SettingsTable) -> tuple[AnyMethod, Selection]:
    """The method of a table, and its selection of clients: the keys of `Selection` that are not the method's own."""
    name = text_value(table, "name", "method")
    known = names_of(METHODS[name].made) if name in METHODS else ()
    about = {key: value for key, value in table.items() if key in names_of(Selection) and key not in known}
    selection = build_settings(Selection, about, where="method")
    method = method_named(name, without_keys(table, "name", *about))
    check_selection(selection, about, method.needs().selects)
    return method, selection


def check_selection(selection: Selection, given: Iterable[str], method_selects: bool) -> None:
    """An error if a setting of these would do nothing."""
    if method_selects and (idle := [name for name in names_of(Selection) if name in given]):
        where = f"method.{idle[0]}"
        raise InputError("this method chooses itself", where=where, got="a selection", need="its own settings")
    selection.needs()  # an error if a network is named for nothing
    if "check_in" in given and selection.selection in ("random", "balanced"):
        got, need = f'selection = "{selection.selection}"', "a selection by what drifts tell"
        raise InputError("there is no check-in", where="method.check_in", got=got, need=need)


def selection_table(selection: Selection) -> SettingsTable:
    """A selection as keys of a method's table: only those in use."""
    if selection.selection == "random":
        return {}
    idle = {"network": not selection.network, "check_in": selection.selection == "balanced"}
    return without_keys(settings_table(selection), *(name for name, unused in idle.items() if unused))


def section(tables: Mapping[str, object], name: str) -> SettingsTable:
    """A section as a table; an empty one if it is not there."""
    table = tables.get(name, {})
    assert isinstance(table, Mapping)  # checked before
    return table


def without_keys(table: SettingsTable, *named: str) -> dict[str, object]:
    """A table without these keys."""
    return {name: value for name, value in table.items() if name not in named}


def text_value(table: SettingsTable, key: str, where: str) -> str:
    """A key that must be text."""
    value = table[key]
    if not isinstance(value, str):
        raise InputError(f"{where}.{key} is not text", where=where, got=repr(value), need="a name in quotes")
    return value
