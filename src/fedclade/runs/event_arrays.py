"""Arrays among the facts of an event: they stand in a file of their own, and the event says which is which."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Damaged

Arrays: TypeAlias = dict[str, NDArray[np.generic]]
FOLDER = "arrays"
FILE_NAME = re.compile(r"[0-9]{5,10}-[a-z]{1,20}\.safetensors")
MOST_BYTES = 2**28  # of a file
ARRAY = "array"  # the key that stands for one
NESTED = (np.ndarray, Mapping, list, tuple)


def file_name(event: str, round_: object) -> str:
    """The file of an event's arrays."""
    return f"{round_ if isinstance(round_, int) else 0:05d}-{event}.safetensors"


def take_arrays(value: object, name: str = "") -> tuple[object, Arrays]:
    """The facts with a name in the place of each array, and the arrays by these names."""
    if isinstance(value, np.ndarray):
        return {ARRAY: name}, {name: np.ascontiguousarray(value)}
    found: Arrays = {}
    if isinstance(value, list | tuple):
        if not any(isinstance(inner, NESTED) for inner in value):  # the names of all clients
            return value, found
        taken = [take_arrays(inner, f"{name}.{place}") for place, inner in enumerate(value)]
        return [plain for plain, _ in taken], {key: array for _, more in taken for key, array in more.items()}
    if not isinstance(value, Mapping):
        return value, found
    plain: dict[str, object] = {}
    for key, inner in value.items():
        plain[str(key)], more = take_arrays(inner, f"{name}.{key}" if name else str(key))
        found |= more
    return plain, found


def put_arrays(value: object, arrays: Mapping[str, NDArray[np.generic]]) -> object:
    """The facts with the arrays where they were; a name that there is no array of stays as it is."""
    if isinstance(value, list):
        return [put_arrays(inner, arrays) for inner in value]
    if not isinstance(value, Mapping):
        return value
    if set(value) == {ARRAY} and isinstance(value[ARRAY], str) and value[ARRAY] in arrays:
        return arrays[value[ARRAY]]
    return {key: put_arrays(inner, arrays) for key, inner in value.items()}


def read_arrays(run: Path, name: object) -> Arrays:
    """The arrays of an event whose file has this name."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    if not isinstance(name, str) or not FILE_NAME.fullmatch(name):
        raise Damaged("an event names no file of arrays", where=str(run), got=repr(name)[:60])
    path = run / FOLDER / name
    if not path.is_file():
        raise Damaged("the arrays of an event are gone", where=str(path), need="the file as it was written")
    if (size := path.stat().st_size) > MOST_BYTES:
        raise Damaged("a file of arrays is too large", where=str(path), got=str(size), need=f"at most {MOST_BYTES}")
    try:
        return dict(load(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        got = type(error).__name__
        raise Damaged("the arrays of an event cannot be read", where=str(path), got=got, need="them whole") from None
