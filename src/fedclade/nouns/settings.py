"""Settings: frozen, keyword-only dataclasses that check themselves, in Python and from TOML alike.

    @settings
    class FedProx:
        mu: Annotated[float, Field(ge=0)] = 0.01

A wrong type, a value out of range and an unknown name raise an `InputError` that names the setting.
"""

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TypeGuard, TypeVar, cast, dataclass_transform

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic.dataclasses import is_pydantic_dataclass

from fedclade.nouns.errors import InputError

Made = TypeVar("Made")

Plain = None | bool | int | float | str | tuple["Plain", ...]
"""What a setting can be in TOML."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field, dataclasses.field))
def settings(cls: type[Made]) -> type[Made]:
    """Make a class of settings."""
    strict = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    made = cast("type[Made]", checked_dataclass(cls, frozen=True, kw_only=True, config=strict))
    check: Callable[..., None] = made.__init__

    @wraps(check)
    def checked(self: Made, *args: object, **values: object) -> None:
        if args:
            raise InputError(
                f"settings of {cls.__name__} have names", got=repr(args[0]), need=f"{cls.__name__}(name=value)"
            )
        try:
            check(self, **{name: unboxed(value) for name, value in values.items()})
        except ValidationError as wrong:
            raise explained(wrong, cls, where=cls.__name__) from None

    setattr(made, "__init__", checked)  # noqa: B010  # the one seam where pydantic's error becomes ours
    return made


def is_settings(found: object) -> TypeGuard[type]:
    """Whether this is a class of settings."""
    return isinstance(found, type) and is_pydantic_dataclass(found)


def unboxed(value: object) -> object:
    """A number of numpy as Python's own; anything else as it is."""
    plain: object = value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value  # type: ignore[attr-defined]  # numpy need not be loaded here
    return plain


def made_from(cls: type[Made], values: Mapping[str, object], where: str) -> Made:
    """Settings of this class from a table of TOML."""
    for name in values:
        if name not in names_of(cls):
            raise unknown(f"{where}.{name}", f"{where}", name, names_of(cls))
    try:
        return cls(**{name: frozen(value) for name, value in values.items()})
    except InputError as wrong:
        name = wrong.where.rpartition(".")[2]
        raise InputError(wrong.what, where=f"{where}.{name}", got=wrong.got, need=wrong.need, do=wrong.do) from None


def plain(made: object) -> dict[str, Plain]:
    """The settings as a table, defaults filled in."""
    return {name: getattr(made, name) for name in names_of(type(made))}


def names_of(cls: type) -> tuple[str, ...]:
    """The names of this class's settings, in their order."""
    return tuple(field.name for field in dataclasses.fields(cls))


def frozen(value: object) -> object:
    """TOML's lists as tuples, all the way down."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value


def unknown(what: str, where: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that nobody knows, with the nearest one that somebody does."""
    known = tuple(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return InputError(
        f"{what} is not known",
        where=where,
        got=f'"{name}"',
        need=f"one of {', '.join(known)}" if known else "no key here",
        do=f'did you mean "{near[0]}"?' if near else "",
    )


def explained(wrong: ValidationError, cls: type, where: str) -> InputError:
    """The first thing that pydantic found wrong, in our words."""
    first = wrong.errors(include_url=False)[0]
    if isinstance(ours := first.get("ctx", {}).get("error"), InputError):  # a check of the class itself
        return ours
    name = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] in ("unexpected_keyword_argument", "dataclass_exact_type"):
        return unknown(f"{where}.{name}", where, name, names_of(cls))
    need = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if first["type"] == "missing":
        return InputError(f"{name} is missing", where=f"{where}.{name}", need="a value")
    return InputError(f"{name} is not usable", where=f"{where}.{name}", got=repr(first["input"]), need=need)
