"""What `help` says of settings: each with its default, what it may be, and what it means.

The one source is the class: its fields, and the text below each of them. The text is not in memory; it is read from the
source when somebody asks for it, so that an import costs nothing.
"""

import ast
import dataclasses
import inspect
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from textwrap import fill
from types import NoneType, UnionType
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])
WIDTH = 100  # characters of a line
INDENT = "    "
TECHNICAL_BOUND = 10**6  # a largest value from here on only keeps memory bounded, and is not shown
PLAIN_KINDS: dict[object, str] = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}


class SettingsDoc:
    """The `__doc__` of a class of settings: its own text, and below it its settings."""

    def __init__(self, own: str) -> None:
        self.own = inspect.cleandoc(own)

    def __get__(self, instance: object, owner: type) -> str:
        listed = settings_list(owner)
        return f"{self.own}\n\nSettings, with their defaults:\n\n{listed}" if listed else self.own


def list_settings(title: str, *classes: type, without: Iterable[str] = ()) -> Callable[[FunctionT], FunctionT]:
    """For a function with settings of these classes as keywords: its help lists them below this title.

    `without` are settings that are no keywords of it, or that its own text explains.
    """

    def add(function: FunctionT) -> FunctionT:
        if function.__doc__:  # with python -OO there is none
            listed = "".join(settings_list(each, without) for each in classes)
            function.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\n{title}\n\n{listed}"
        return function

    return add


def summary_of(documented: object) -> str:
    """The first line of its text."""
    return (documented.__doc__ or "").strip().partition("\n")[0]


def settings_list(cls: type, without: Iterable[str] = (), depth: int = 1) -> str:
    """The settings of a class: for each a line with its default and what it may be, and below it what it means.

    Where a setting is a table of its own, the settings of each class that it may be of stand below it.
    """
    hints, meanings = type_hints(cls), field_meanings(cls)
    text = ""
    for field in (field for field in dataclasses.fields(cls) if field.name not in without):
        default = "" if field.default is dataclasses.MISSING else f" = {literal(field.default)}"
        text += indent(f"{field.name}{default} ({values_text(hints.get(field.name))})", depth, depth + 1)
        text += indent(meanings.get(field.name, ""), depth + 1, depth + 1)
        for inner in classes_in(hints.get(field.name)):
            if listed := settings_list(inner, ["kind"], depth + 2):
                text += indent(f"Of {inner.__name__}:", depth + 1, depth + 1) + listed
    return text


def indent(text: str, first: int, rest: int) -> str:
    """The text in lines of one width; none if it is empty."""
    filled = fill(text, WIDTH, initial_indent=first * INDENT, subsequent_indent=rest * INDENT)
    return f"{filled}\n" if text else ""


def classes_in(kind: object) -> list[type]:
    """The classes of settings that a value of this type may be of."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return [kind]
    return [found for each in get_args(kind) for found in classes_in(each)]


def type_hints(cls: type) -> dict[str, object]:
    """The types of its fields; none where one of them cannot be found."""
    try:
        return get_type_hints(cls, include_extras=True)
    except NameError:  # a type that only a type checker sees
        return {}


def values_text(kind: object, bounds: str = "") -> str:
    """What a value of this type may be: `a whole number from 1`, `"a" or "b"`."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return values_text(inside[0], bounds_text(inside[1:]))
    if origin is Literal:
        return any_of(literal(each) for each in inside)
    if origin in (Union, UnionType):
        return any_of(values_text(each) for each in inside)
    if origin is tuple:
        return f"a list, each {values_text(inside[0])}"
    if kind is NoneType:
        return "None"
    name = PLAIN_KINDS.get(kind) or getattr(kind, "__name__", "a value")
    return f"{name} {bounds}".strip()


def bounds_text(extras: Iterable[object]) -> str:
    """The range that these annotations say: `from 0, under 1`."""
    known = [each for extra in extras if isinstance(extra, FieldInfo) for each in extra.metadata]
    text = ""
    for word, name in (("from ", "ge"), ("over ", "gt"), (" to ", "le"), (", under ", "lt")):
        for bound in (getattr(each, name) for each in known if hasattr(each, name)):
            if name in ("ge", "gt") or bound < TECHNICAL_BOUND:
                text += f"{word}{bound:,}"
    return text.strip().replace("over 0 to", "over 0, up to")


def any_of(texts: Iterable[str]) -> str:
    """`a, b or c`."""
    *first, last = dict.fromkeys(texts)
    return f"{', '.join(first)} or {last}" if first else last


def literal(value: object) -> str:
    """A value as one writes it in Python, with the quotes of our texts."""
    return f'"{value}"' if isinstance(value, str) and value.isprintable() and '"' not in value else repr(value)


@lru_cache
def field_meanings(cls: type) -> dict[str, str]:
    """The text below each field of a class, its own or of a class that it inherits; one line each."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if each is not object and (body := class_body(each)) is not None:
            found.update(texts_below_fields(body))
    return found


def class_body(cls: type) -> list[ast.stmt] | None:
    """The statements of a class; None where its source is not at hand."""
    tree = module_tree(cls.__module__)
    path = [name for name in cls.__qualname__.split(".") if name != "<locals>"]
    inside: list[ast.stmt] | None = tree.body if tree else None
    for name in path:
        inside = next((node.body for node in definitions(inside or []) if node.name == name), None)
    return inside


@lru_cache
def module_tree(name: str) -> ast.Module | None:
    """A module, parsed; None where its source is not at hand, as in a shell."""
    module = sys.modules.get(name)
    lines = linecache.getlines(getattr(module, "__file__", None) or "", vars(module) if module else None)
    try:
        return ast.parse("".join(lines)) if lines else None
    except SyntaxError:  # not the source, or one that was changed since
        return None


def definitions(body: list[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """The classes and functions that are defined here; the last one of a name first."""
    return (node for node in reversed(body) if isinstance(node, ast.ClassDef | ast.FunctionDef))


def texts_below_fields(body: list[ast.stmt]) -> dict[str, str]:
    """The text below each annotated name."""
    found = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            value = below.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[field.target.id] = " ".join(value.value.split())
    return found
