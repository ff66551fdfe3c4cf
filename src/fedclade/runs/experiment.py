"""An experiment: one TOML file, checked and with every default filled in before any work starts."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import tomli_w
from pydantic import Field

from fedclade.data import Federation
from fedclade.data.recipe import SITES, read_recipe
from fedclade.methods import METHODS, AnyMethod, Selection, method_named, name_of
from fedclade.nouns import InputError, LocalTraining, NameTaken, settings
from fedclade.nouns.settings import made_from, names_of, plain, unknown

Table = Mapping[str, object]
LARGEST_FILE = 2**20  # bytes; an experiment is a page of text


@settings
class RunSettings:
    """How long, with whom, how often judged, from which seed."""

    rounds: Annotated[int, Field(ge=1, le=10**9)] = 100
    participation: Annotated[float, Field(gt=0, le=1)] = 0.2
    """The share of the clients that a round asks (rho)."""
    evaluate_every: Annotated[int, Field(ge=1, le=10**9)] = 5
    """Rounds between evaluations; the last round is always evaluated."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Decides everything that is drawn: the world, initial weights, participation, batches."""


@settings
class EngineSettings:
    """Who plays the clients."""

    name: Literal["simulated"] = "simulated"
    workers: Annotated[int, Field(ge=0, le=256)] = 2
    """Processes, one thread each; 0: this one does it. The result does not depend on it."""
    path: Literal["auto", "general"] = "auto"
    """How clients train: the fastest way for the net, or `general`: torch's autograd. They agree to rounding."""


Seconds = Annotated[float, Field(gt=0, le=10**7)]


@settings
class FlowerSettings:
    """Flower carries the messages: to its own simulation on Ray, or to real sites."""

    name: Literal["flower"] = "flower"
    workers: Annotated[int, Field(ge=1, le=256)] = 2
    """Simulation: Ray's processes, one thread each. The result does not depend on it."""
    ray: str = ""
    """Simulation: the address of a Ray cluster to join, for several machines; empty: this machine."""
    clients: Annotated[int, Field(ge=1, le=10**6)] = 2
    """Sites: the first round waits until so many have enrolled."""
    wait_seconds: Seconds = 600.0
    """How long to wait for clients before the run stops; it can be resumed."""
    train_seconds: Seconds = 600.0
    """A reply to `train` or `train_mean` that takes longer is missing; likewise the verbs below."""
    losses_seconds: Seconds = 600.0
    evaluate_seconds: Seconds = 600.0
    sketch_seconds: Seconds = 600.0
    enrol_seconds: Seconds = 120.0
    """How long a node may take to say its name; nobody waits for it in the meantime."""


ENGINES: dict[str, type[EngineSettings] | type[FlowerSettings]] = {
    "simulated": EngineSettings,
    "flower": FlowerSettings,
}
DEFAULT_NAMES = {"net": "mlp", "method": "fedavg", "engine": "simulated"}
SECTIONS = ("data", "net", "local", "method", "run", "engine")
PYTHON = "python"  # the source, or the net, was given as a Python object and cannot be read from the file


@dataclass(frozen=True)
class Experiment:
    """What is asked for."""

    data: Table
    """`source`, `world`, and the world's settings."""
    method: AnyMethod
    net: Table = field(default_factory=lambda: {"name": "mlp"})
    """`name`, and the net's settings."""
    local: LocalTraining = field(default_factory=LocalTraining)
    run: RunSettings = field(default_factory=RunSettings)
    engine: EngineSettings | FlowerSettings = field(default_factory=EngineSettings)
    selection: Selection = field(default_factory=Selection)
    """Who takes part in a round; in TOML its keys stand beside the method's own."""

    @property
    def method_name(self) -> str:
        return name_of(self.method)

    @property
    def source(self) -> str:
        return str(self.data["source"])

    def federation(self) -> Federation:
        """The clients with their examples."""
        if self.source == PYTHON:
            raise InputError(
                "the data are a Python object",
                where="data.source",
                need="the same federation",
                do="give it in Python: fedclade.train(federation, ...), fedclade.resume(run, federation=...)",
            )
        return read_recipe(self.data).federation(self.run.seed)

    def toml(self) -> str:
        """The whole experiment as TOML: reading it gives the same experiment."""
        tables: dict[str, Mapping[str, object]] = {
            "data": dict(self.data),
            "net": dict(self.net),
            "local": plain(self.local),
            "method": {"name": self.method_name, **plain(self.method), **chosen_by(self.selection)},
            "run": plain(self.run),
            "engine": plain(self.engine),
        }
        return tomli_w.dumps({name: written(table) for name, table in tables.items()})

    def with_seed(self, seed: int) -> "Experiment":
        """The same with another seed."""
        return replace(self, run=replace(self.run, seed=seed))


def written(table: Mapping[str, object]) -> dict[str, object]:
    """A table as TOML can hold it: no None, lists for tuples, tables in tables."""
    return {
        name: list(value) if isinstance(value, tuple) else written(value) if isinstance(value, Mapping) else value
        for name, value in table.items()
        if value is not None
    }


def read_experiment(path: Path, changes: Sequence[str] = (), seed: int | None = None) -> Experiment:
    """The experiment of a TOML file, with `--set` changes (`a.b=c`) and a seed laid over it."""
    try:
        size = path.stat().st_size if path.is_file() else -1
    except OSError:  # a name that cannot be one
        size = -1
    if size < 0:
        raise InputError("there is no such experiment", where=str(path), need="a TOML file")
    if size > LARGEST_FILE:
        raise InputError("the experiment is too large", where=str(path), got=f"{size} bytes", need="at most 1 MiB")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise InputError("the experiment is not TOML", where=str(path), got=str(wrong), need="valid TOML") from None
    # Names first: another method or net takes its own settings with it, wherever they stand on the command line.
    for change in sorted(changes, key=lambda each: not each.partition("=")[0].strip().endswith(".name")):
        lay_over(tables, change)
    if seed is not None:
        lay_over(tables, f"run.seed={seed}")
    try:
        return experiment_from(tables, where=str(path))
    except NameTaken:
        raise
    except InputError as wrong:
        place = wrong.where if str(path) in wrong.where else f"{path}, {wrong.where}"
        raise InputError(wrong.what, where=place, got=wrong.got, need=wrong.need, do=wrong.do) from None


def lay_over(tables: dict[str, object], change: str) -> None:
    """Put one `section.key=value` into the tables. The value is TOML; what is not TOML is text."""
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
        if not isinstance(inner, dict):
            raise InputError(
                f"{section} is not a section", where="--set", got=f'"{change}"', need="a table in the file"
            )
        table = inner
    if key == "name" and table.get("name", DEFAULT_NAMES.get(sections[0], value)) != value:
        table.clear()  # another method or net: the settings of the old one mean nothing to it
    table[key] = value


def experiment_from(tables: Mapping[str, object], where: str = "the experiment") -> Experiment:
    """The experiment of these tables; everything that can be checked is checked."""
    for name, table in tables.items():
        if name not in SECTIONS:
            raise unknown(f"section [{name}]", where, name, SECTIONS)
        if not isinstance(table, Mapping):
            raise InputError(f"{name} is not a section", where=where, got=repr(table), need=f"[{name}]")
    data, net, local, method, run, engine = (section(tables, name) for name in SECTIONS)
    plan = made_from(RunSettings, run, where="run")
    if data.get("source") != PYTHON:
        recipe = read_recipe(data)
        recipe.check_rounds(plan.rounds)
        data = recipe.table()
    if net.get("name") != PYTHON:
        from fedclade.nets.registry import architecture_named  # 2 s: only where a net is asked for

        name = text({"name": DEFAULT_NAMES["net"], **net}, "name", "net")
        net = {"name": name, **plain(made_from(architecture_named(name), rest(net, "name"), where="net"))}
    engine_name = text({"name": DEFAULT_NAMES["engine"], **engine}, "name", "engine")
    if engine_name not in ENGINES:
        raise unknown("the engine", "engine.name", engine_name, ENGINES)
    if data["source"] == SITES and engine_name != "flower":
        raise InputError(
            "data at sites need Flower", where="engine.name", got=f'"{engine_name}"', need='"flower", see deploy init'
        )
    made, selection = method_from({"name": DEFAULT_NAMES["method"], **method})
    return Experiment(
        data=data,
        net=net,
        local=made_from(LocalTraining, local, where="local"),
        method=made,
        run=plan,
        engine=made_from(ENGINES[engine_name], engine, where="engine"),
        selection=selection,
    )


def method_from(table: Table) -> tuple[AnyMethod, Selection]:
    """The method of a table, and who takes part: the keys of `Selection` that are not the method's own."""
    name = text(table, "name", "method")
    known = names_of(METHODS[name].made) if name in METHODS else ()
    about = {key: value for key, value in table.items() if key in names_of(Selection) and key not in known}
    selection = made_from(Selection, about, where="method")
    method = method_named(name, rest(table, "name", *about))
    check_selection(selection, about, method.needs().selects)
    return method, selection


def check_selection(selection: Selection, given: Iterable[str], method_selects: bool) -> None:
    """An error if a setting of these would do nothing."""
    if method_selects and (idle := [name for name in names_of(Selection) if name in given]):
        raise InputError(
            "this method chooses itself",
            where=f"method.{idle[0]}",
            got="a selection",
            need="its own settings",
        )
    selection.needs()  # an error if a network is named for nothing
    if "check_in" in given and selection.selection in ("random", "balanced"):
        raise InputError(
            "there is no check-in",
            where="method.check_in",
            got=f'selection = "{selection.selection}"',
            need="a selection by what drifts tell",
        )


def chosen_by(selection: Selection) -> Table:
    """A selection as keys of a method's table: only what is in use."""
    if selection.selection == "random":
        return {}
    idle = ["network"] if not selection.network else []
    return rest(plain(selection), *idle, *(["check_in"] if selection.selection == "balanced" else []))


def section(tables: Mapping[str, object], name: str) -> Table:
    """A section as a table; an empty one if it is not there."""
    table = tables.get(name, {})
    assert isinstance(table, Mapping)  # checked before
    return table


def rest(table: Table, *named: str) -> dict[str, object]:
    """A table without these keys."""
    return {name: value for name, value in table.items() if name not in named}


def text(table: Table, key: str, where: str) -> str:
    """A key that must be text."""
    value = table[key]
    if not isinstance(value, str):
        raise InputError(f"{where}.{key} is not text", where=where, got=repr(value), need="a name in quotes")
    return value
