"""Packages that bring plug-ins, as pip would leave them in a folder: a module, and metadata with entry points."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fedclade import plugins

METHOD = '''
from dataclasses import dataclass, replace
from fedclade.methods import Facts, Needs
from fedclade.core import Assignment, ClientId, Row, settings

@dataclass(frozen=True, eq=False)
class OneModel:
    model: Row
    clients: tuple[ClientId, ...]

@settings
class Mean:
    """The plain mean."""

    weight: float = 1.0

    def needs(self):
        return Needs()

    def start(self, fleet, first, now) -> tuple[OneModel, Facts]:
        return OneModel(first(0), fleet.clients()), {}

    def round(self, state, fleet, now):
        updates = fleet.train(Assignment.of_one(state.model, fleet.clients()), now)
        return replace(state, model=self.weight * updates.rows.mean(axis=0)), {}

    def assignment(self, state):
        return Assignment.of_one(state.model, state.clients)

    def place(self, state, newcomers, fleet, now):
        return replace(state, clients=state.clients + newcomers), {}
'''


def write_package(folder: Path, name: str, entries: Mapping[str, Mapping[str, str]], module: str = "") -> None:
    """Write a package, version 1.0, with one module of these lines; `entries` by group, such as `methods`."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, named in entries.items()
        for line in (f"[fedclade.{group}]", *(f"{entry} = {value}" for entry, value in named.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (folder / f"{name}.py").write_text(module)


def forget() -> None:
    """As if the process had just begun: nothing is known of plug-ins."""
    plugins.plugins.cache_clear()
    plugins.warn.cache_clear()
    plugins.LOADED.clear()


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Inside, the packages of this folder are installed."""
    modules = set(sys.modules)
    sys.path.insert(0, str(folder))
    forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
        forget()
