"""The methods that fedclade knows, by name. A user's own joins them in one line: `register("mine", Mine)`."""

from collections.abc import Mapping
from dataclasses import dataclass

from fedclade.methods.protocol import AnyMethod
from fedclade.nouns import InputError
from fedclade.nouns.settings import made_from, unknown


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


METHODS: dict[str, Known] = {}


def register(name: str, made: type[AnyMethod], *, demo: bool = False, finds_groups: bool = False) -> None:
    """Make a method known by this name, to experiments, to `compare` and to the conformance suite."""
    if name in METHODS and METHODS[name].made is not made:
        raise InputError("a method of this name is there already", where="register", got=f'"{name}"', need="a new name")
    METHODS[name] = Known(made, demo, finds_groups)


def method_named(name: str, settings: Mapping[str, object] | None = None) -> AnyMethod:
    """The method of this name with these settings."""
    if name not in METHODS:
        raise unknown("the method", "method.name", name, METHODS)
    return made_from(METHODS[name].made, settings or {}, where="method")


def name_of(method: AnyMethod) -> str:
    """The name that this method is registered by, or its class's."""
    for name, known in METHODS.items():
        if known.made is type(method):
            return name
    return type(method).__name__.lower()
