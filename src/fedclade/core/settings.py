"""Settings: frozen, keyword-only dataclasses that check themselves, in Python and from TOML alike.

    @settings
    class FedProx:
        mu: Annotated[float, Field(ge=0)] = 0.01

A wrong type, a value out of range and an unknown name raise an `InputError` that names the setting.
"""

import dataclasses
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TypeGuard, TypeVar, cast, dataclass_transform

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic.dataclasses import is_pydantic_dataclass

from fedclade.core.errors import InputError
from fedclade.core.settings_help import SettingsDoc

SettingsT = TypeVar("SettingsT")

SettingValue = None | bool | int | float | str | tuple["SettingValue", ...] | dict[str, "SettingValue"]
"""What a setting can be in TOML."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field, dataclasses.field))
def settings(cls: type[SettingsT]) -> type[SettingsT]:
    """Make a class of settings. Its help lists them, with the text below each field."""
    own_text = cls.__doc__ or ""
    strict = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    made = cast("type[SettingsT]", checked_dataclass(cls, frozen=True, kw_only=True, config=strict))
    check: Callable[..., None] = made.__init__

    @wraps(check)
    def checked_init(self: SettingsT, *args: object, **values: object) -> None:
        if args:
            raise InputError(
                f"settings of {cls.__name__} have names", got=repr(args[0]), need=f"{cls.__name__}(name=value)"
            )
        try:
            check(self, **{name: to_python_number(value) for name, value in values.items()})
        except ValidationError as error:
            raise input_error(error, cls, where=cls.__name__) from None

    setattr(made, "__init__", checked_init)  # noqa: B010  # the one seam where pydantic's error becomes ours
    for name, value in (("__doc__", SettingsDoc(own_text)), ("__signature__", short_signature(made))):
        setattr(made, name, value)
    return made


def short_signature(cls: type) -> inspect.Signature:
    """Names and defaults; what a value may be stands in the help, and in the annotations is not for people."""
    fields = ((field.name, field.default) for field in dataclasses.fields(cls))
    only, required = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(name, only, default=required if default is dataclasses.MISSING else default)
            for name, default in fields
        ]
    )


def is_settings(found: object) -> TypeGuard[type]:
    """Whether this is a class of settings."""
    return isinstance(found, type) and is_pydantic_dataclass(found)


def to_python_number(value: object) -> object:
    """A number of numpy as Python's own; anything else as it is."""
    plain: object = value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value  # type: ignore[attr-defined]  # numpy need not be loaded here
    return plain


def build_settings(cls: type[SettingsT], values: Mapping[str, object], where: str) -> SettingsT:
    """Settings of this class from a table of TOML."""
    for name in values:
        if name not in names_of(cls):
            raise unknown_name_error(f"{where}.{name}", f"{where}", name, names_of(cls))
    try:
        return cls(**{name: lists_to_tuples(value) for name, value in values.items()})
    except InputError as error:
        name = error.where.partition(".")[2] or error.where
        raise InputError(error.what, where=f"{where}.{name}", got=error.got, need=error.need, do=error.do) from None


def nested_settings(*classes: type) -> BeforeValidator:
    """For a setting that is a table of its own: its `kind` says of which of these classes.

    In TOML it is a sub-table, or the kind alone as text; in Python an instance, or either of these.
    """
    kinds = {str(field.default): cls for cls in classes for field in dataclasses.fields(cls) if field.name == "kind"}

    def read(value: object, info: ValidationInfo) -> object:
        table = {"kind": value} if isinstance(value, str) else value
        where = str(info.field_name)
        if isinstance(value, classes):
            return value
        if not isinstance(table, Mapping):
            need = f"a table with kind {' or '.join(map(repr, kinds))}"
            raise InputError(f"{where} is not usable", where=where, got=repr(value), need=need)
        kind = table.get("kind", next(iter(kinds)))
        if not isinstance(kind, str) or kind not in kinds:
            raise unknown_name_error(f"{where}.kind", where, str(kind), kinds)
        return build_settings(kinds[kind], table, where)

    return BeforeValidator(read)


def optional_settings(cls: type) -> BeforeValidator:
    """For a setting that is a table of its own, or is not there: true for the table with its defaults, false for none.

    In Python it may also be an instance.
    """

    def read(value: object, info: ValidationInfo) -> object:
        where = str(info.field_name)
        if value is None or isinstance(value, bool):
            return cls() if value else None
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            need = "true, false or a table"
            raise InputError(f"{where} is not usable", where=where, got=repr(value), need=need)
        return build_settings(cls, value, where)

    return BeforeValidator(read)


def settings_table(made: object) -> dict[str, SettingValue]:
    """The settings as a table, defaults filled in."""
    return {name: plain_setting(getattr(made, name)) for name in names_of(type(made))}


def plain_setting(value: object) -> SettingValue:
    """The value of a setting as plain data."""
    if is_settings(type(value)):
        return settings_table(value)
    if isinstance(value, tuple):
        return tuple(map(plain_setting, value))
    return cast("SettingValue", value)


def flat_table(table: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """The values of nested tables as text, by their full names: `local.lr`, `method.signature.kind`."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        flat |= flat_table(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: str(value)}
    return flat


def names_of(cls: type) -> tuple[str, ...]:
    """The names of this class's settings, in their order."""
    return tuple(field.name for field in dataclasses.fields(cls))


def lists_to_tuples(value: object) -> object:
    """TOML's lists as tuples, all the way down."""
    return tuple(lists_to_tuples(item) for item in value) if isinstance(value, list) else value


def unknown_name_error(what: str, where: str, name: str, known: Iterable[str]) -> InputError:
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


def input_error(error: ValidationError, cls: type, where: str) -> InputError:
    """The first thing that pydantic found wrong, in our words."""
    found = error.errors(include_url=False)
    first = found[0]
    if isinstance(ours := first.get("ctx", {}).get("error"), InputError):  # a check of the class, or a nested table
        if first["loc"]:
            return InputError(ours.what, where=f"{where}.{ours.where}", got=ours.got, need=ours.need, do=ours.do)
        return ours
    name = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] in ("unexpected_keyword_argument", "dataclass_exact_type"):
        return unknown_name_error(f"{where}.{name}", where, name, names_of(cls))
    same = [each for each in found if each["loc"][:1] == first["loc"][:1]]
    messages = [plain_message(each["msg"]) for each in same if each["input"] is first["input"]]
    # What is wrong inside a list, where the setting may be one, but need not.
    inside = [each for each in same if len(each["loc"]) > len(first["loc"]) and each["input"] is not first["input"]]
    messages += [f"a list of what is {plain_message(each['msg'])}" for each in inside[:1]]
    need = " or ".join(dict.fromkeys(messages))  # several where a setting may be of several kinds
    if first["type"] == "missing" and len(first["loc"]) == 1:
        return InputError(f"{name} is missing", where=f"{where}.{name}", need="a value")
    return InputError(f"{name} is not usable", where=f"{where}.{name}", got=repr(first["input"]), need=need)


def plain_message(message: str) -> str:
    """What pydantic says of a value, as what it should be."""
    known = {"Input should be a valid tuple": "a list", "Field required": "more values"}
    return known.get(message, message.removeprefix("Input should be ").removeprefix("Value error, "))
