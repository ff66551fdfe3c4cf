"""The methods that fedclade knows, by name.

A user's own joins them in one line, `register("mine", Mine)`, or as a plug-in of an installed package.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from fedclade.core import InputError
from fedclade.core.registry import Registry, check_class
from fedclade.core.settings import build_settings
from fedclade.methods.protocol import AnyMethod


@dataclass(frozen=True)
class MethodEntry:
    """A method that can be asked for by name."""

    made: type[AnyMethod]
    demo: bool
    """Whether `fedclade demo` shows it."""
    finds_groups: bool
    """Whether it claims to find planted groups; the conformance suite holds it to that."""


def accept(found: object) -> MethodEntry:
    """The method of a plug-in, from its class."""
    check_class(found, "needs", "start", "round", "assignment", "place")
    return MethodEntry(cast("type[AnyMethod]", found), demo=False, finds_groups=False)


METHODS: Registry[MethodEntry] = Registry(
    "method",
    {},
    accept=accept,
    need="a class of @settings, all with defaults, with needs, start, round, assignment and place",
    module_of=lambda entry: entry.made.__module__,
    identity=lambda entry: entry.made,
)


def register(name: str, made: type[AnyMethod], *, demo: bool = False, finds_groups: bool = False) -> None:
    """Make a method known by this name, to experiments, to `compare` and to the conformance suite."""
    if name in METHODS.registered_entries and METHODS.registered_entries[name].made is not made:
        raise InputError("a method of this name is there already", where="register", got=f'"{name}"', need="a new name")
    METHODS[name] = MethodEntry(made, demo, finds_groups)


def method_named(name: str, settings: Mapping[str, object] | None = None) -> AnyMethod:
    """The method of this name with these settings."""
    return build_settings(METHODS.find(name, "method.name").made, settings or {}, where="method")


def name_of(method: AnyMethod) -> str:
    """The name that this method is registered by, or that of its class."""
    names = (name for name, known in METHODS.items() if known.made is type(method))
    return next(names, type(method).__name__.lower())
