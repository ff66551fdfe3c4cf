"""The methods that fedclade knows, by name.

A user's own joins them in one line, `register("mine", Mine)`, or as a plug-in of an installed package.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from fedclade.methods.protocol import AnyMethod
from fedclade.nouns import InputError
from fedclade.nouns.registry import Registry, check_class
from fedclade.nouns.settings import made_from


@dataclass(frozen=True)
class Known:
    """A method that can be asked for by name."""

    made: type[AnyMethod]
    demo: bool
    """Whether `fedclade demo` shows it."""
    finds_groups: bool
    """Whether it claims to find planted groups; the conformance suite holds it to that."""

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.made.__doc__ or "").strip().partition("\n")[0]


def accept(found: object) -> Known:
    """The method of a plug-in, from its class."""
    check_class(found, "needs", "start", "round", "assignment", "place")
    return Known(cast("type[AnyMethod]", found), demo=False, finds_groups=False)


METHODS: Registry[Known] = Registry(
    "method",
    {},
    accept=accept,
    need="a class of @settings, all with defaults, with needs, start, round, assignment and place",
    home=lambda known: known.made.__module__,
    identity=lambda known: known.made,
)


def register(name: str, made: type[AnyMethod], *, demo: bool = False, finds_groups: bool = False) -> None:
    """Make a method known by this name, to experiments, to `compare` and to the conformance suite."""
    if name in METHODS.own and METHODS.own[name].made is not made:
        raise InputError("a method of this name is there already", where="register", got=f'"{name}"', need="a new name")
    METHODS[name] = Known(made, demo, finds_groups)


def method_named(name: str, settings: Mapping[str, object] | None = None) -> AnyMethod:
    """The method of this name with these settings."""
    return made_from(METHODS.find(name, "method.name").made, settings or {}, where="method")


def name_of(method: AnyMethod) -> str:
    """The name that this method is registered by, or its class's."""
    for name, known in METHODS.items():
        if known.made is type(method):
            return name
    return type(method).__name__.lower()
