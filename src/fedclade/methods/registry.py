"""The methods that fedclade knows, by name. A user's own joins them in one line: `register("mine", Mine)`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from fedclade.methods.protocol import Method
from fedclade.nouns import InputError
from fedclade.nouns.settings import made_from, unknown

State = TypeVar("State")


@dataclass(frozen=True)
class Known:
    """A method that can be asked for by name."""

    made: type[Method[object]]
    demo: bool
    """Whether `fedclade demo` shows it."""

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.made.__doc__ or "").strip().partition("\n")[0]


METHODS: dict[str, Known] = {}


def register(name: str, made: type[Method[State]], *, demo: bool = False) -> None:
    """Make a method known by this name, to experiments, to `compare` and to the conformance suite."""
    if name in METHODS and METHODS[name].made is not made:
        raise InputError("a method of this name is there already", where="register", got=f'"{name}"', need="a new name")
    # A method is used with its own state only, so its state's class need not be known here.
    METHODS[name] = Known(made, demo)  # type: ignore[arg-type]


def method_named(name: str, settings: Mapping[str, object] | None = None) -> Method[object]:
    """The method of this name with these settings."""
    if name not in METHODS:
        raise unknown("the method", "method.name", name, METHODS)
    return made_from(METHODS[name].made, settings or {}, where="method")


def name_of(method: Method[State]) -> str:
    """The name that this method is registered by, or its class's."""
    for name, known in METHODS.items():
        if known.made is type(method):
            return name
    return type(method).__name__.lower()
