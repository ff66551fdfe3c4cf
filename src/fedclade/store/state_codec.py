"""A method's state as plain data and back: JSON for its shape and numbers, named arrays for the rest.

Decoding follows the annotations of the class that is expected, so that a file can never say what to build.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Damaged

T = TypeVar("T")
StateArrays = dict[str, NDArray[Any]]


def pack(value: object) -> tuple[object, StateArrays]:
    """The value as a JSON tree in which arrays are named, and the arrays."""
    arrays: StateArrays = {}
    return _pack_value(value, "state", arrays), arrays


def _pack_value(value: object, name: str, arrays: StateArrays) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        arrays[name] = np.asarray(value, order="C")
        return name
    if isinstance(value, tuple | list):
        if set(map(type, value)) <= {str}:  # the names of all clients, at every checkpoint
            return list(value)
        return [_pack_value(item, f"{name}.{number}", arrays) for number, item in enumerate(value)]
    if isinstance(value, Mapping):
        return [
            [_pack_value(key, "", {}), _pack_value(item, f"{name}.{number}", arrays)]
            for number, (key, item) in enumerate(value.items())
        ]
    if dataclasses.is_dataclass(value):
        return {
            field.name: _pack_value(getattr(value, field.name), f"{name}.{field.name}", arrays)
            for field in dataclasses.fields(value)
        }
    raise TypeError(f"{name} is a {type(value).__name__}: a state holds arrays, ids, numbers, and dataclasses of them")


def unpack(kind: type[T], tree: object, arrays: StateArrays) -> T:
    """The value of this class that was packed; the tree has been checked against its checksum before."""
    return cast(T, _unpack_value(kind, tree, arrays))


def _unpack_value(kind: Any, tree: Any, arrays: StateArrays) -> object:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if tree is None and type(None) in inner:
            return None
        (only,) = (each for each in inner if each is not type(None) and fits(each, tree))
        return _unpack_value(only, tree, arrays)
    if origin is np.ndarray:
        return arrays[tree]
    if origin is tuple:
        if inner[1:] == (...,):
            return tuple(_unpack_value(inner[0], item, arrays) for item in tree)
        return tuple(_unpack_value(each, item, arrays) for each, item in zip(inner, tree, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {_unpack_value(inner[0], key, {}): _unpack_value(inner[1], item, arrays) for key, item in tree}
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return cast(Any, kind)(**{name: _unpack_value(hints[name], item, arrays) for name, item in tree.items()})
    if origin is typing.Literal or kind in (bool, int, float, str, type(None)):
        return float(tree) if kind is float else tree
    raise Damaged(f"a state cannot hold {kind}", where="its class")


def fits(kind: Any, tree: Any) -> bool:
    """Whether the tree may be of this class: of several dataclasses only one has its fields."""
    return not dataclasses.is_dataclass(kind) or (
        isinstance(tree, dict) and set(tree) == {field.name for field in dataclasses.fields(kind)}
    )
