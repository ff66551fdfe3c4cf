"""Plug-ins: methods, nets, sources, worlds and commands that other installed packages add by entry points.

    [project.entry-points."fedclade.methods"]
    my-method = "my_package.my_method:MyMethod"

The command line reads this module before it knows what it is asked for, so nothing heavy is imported here.
"""

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from traceback import walk_tb
from typing import TypeVar, cast

Accepted = TypeVar("Accepted")

KINDS = ("method", "net", "source", "world", "command")
USABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  # it stands in TOML, in commands and in names of folders


@dataclass(frozen=True)
class Plugin:
    """One entry point of an installed package."""

    kind: str
    """One of `KINDS`; the group of the entry point is `fedclade.` with this word in the plural."""
    name: str
    value: str
    """The place of the object: `package.module:Class`."""
    package: str
    """The distribution, as `pip install` names it."""
    version: str

    @property
    def owner(self) -> str:
        """The package and its version, for people."""
        return f"package {self.package} {self.version}"

    def load(self) -> object:
        """Import the object that the entry point names."""
        return EntryPoint(self.name, self.value, entry_point_group(self.kind)).load()


def entry_point_group(kind: str) -> str:
    """The group of entry points for one kind of plug-in."""
    return f"fedclade.{kind}s"


@cache
def plugins(kind: str) -> tuple[Plugin, ...]:
    """The plug-ins of a kind that are installed, by name; nothing of them is imported."""
    try:
        entries = entry_points(group=entry_point_group(kind))
    except Exception as error:  # one package with unreadable metadata must not stop all others
        need = "readable metadata of every package"
        warn(f"plug-ins cannot be read: got {error_summary(error)}, need {need}; do: pip check")
        return ()
    found = []
    for entry in entries:
        package, version = (entry.dist.name, entry.dist.version) if entry.dist else (None, None)
        plugin = Plugin(kind, entry.name, entry.value, package or "(unnamed)", version or "")
        if USABLE_NAME.fullmatch(plugin.name):
            found.append(plugin)
        else:
            warn_about_plugin(plugin, "this name", "letters, digits, and . _ - between them")
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.package)))


LOCK = RLock()
LOADED: dict[Plugin, object] = {}  # the result of `accept` for each plug-in; None: it cannot be used


def load_plugin(plugin: Plugin, accept: Callable[[object], Accepted], need: str) -> Accepted | None:
    """The result of `accept` for the plug-in's object. None, and one warning in this process, if that fails.

    `accept` raises an error for an object of the wrong kind; `need` is the right one, for the warning.
    """
    with LOCK:
        if plugin not in LOADED:
            LOADED[plugin] = None  # a module that looks itself up while it is imported finds nothing
            try:
                LOADED[plugin] = accept(plugin.load())
            except (Exception, SystemExit) as error:  # a foreign module may raise anything
                warn_about_plugin(plugin, error_summary(error), f"{plugin.value}, {need}")
        return cast("Accepted | None", LOADED[plugin])


def error_summary(error: BaseException) -> str:
    """An error in a few words."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


def warn_about_plugin(plugin: Plugin, got: str, need: str) -> None:
    """Say that a plug-in is left out, and why."""
    do = f"pip install --upgrade {plugin.package}, or pip uninstall {plugin.package}"
    what = f'plug-in "{plugin.name}" of {plugin.owner} cannot be used'
    warn(f"{what}: got {got}, need {need}; do: {do}")


@cache
def warn(message: str) -> None:
    """One line of stderr; the same one only once in a process."""
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(message.split()))
    print("warning: " + line, file=sys.stderr)


@dataclass(frozen=True)
class Clash:
    """A name that has several owners."""

    name: str
    owner: str
    """The owner that is no plug-in; may be empty."""
    plugins: tuple[Plugin, ...]


def clashes(kind: str, owners: Mapping[str, str]) -> dict[str, Clash]:
    """The names with several owners: plug-ins, or a plug-in and one of these, which are no plug-ins."""
    named: dict[str, tuple[Plugin, ...]] = {}
    for plugin in plugins(kind):
        named[plugin.name] = (*named.get(plugin.name, ()), plugin)
    return {
        name: Clash(name, owners.get(name, ""), several)
        for name, several in named.items()
        if name in owners or len(several) > 1
    }


def plugin_states(
    kind: str, taken_names: Collection[str], make: Callable[[Plugin], object | None]
) -> list[tuple[Plugin, str]]:
    """Every plug-in of another package: `usable`, `broken` (nothing is made of it), or its name is `taken`."""
    return [
        (plugin, "taken" if plugin.name in taken_names else "broken" if make(plugin) is None else "usable")
        for plugin in plugins(kind)
        if plugin.package != "fedclade"
    ]


def responsible_package(error: BaseException) -> str:
    """The package that raised an error: fedclade or that of a plug-in, by the innermost frame of one of them."""
    every = [plugin for kind in KINDS for plugin in plugins(kind)]
    package_by_module = {re.split("[.:]", plugin.value)[0]: plugin.package for plugin in every}
    found = "fedclade"
    for frame, _ in walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        if module == "fedclade" or module in package_by_module:
            package = package_by_module.get(module, "fedclade")
            found = package if package == "fedclade" else f"package {package}"
    return found
