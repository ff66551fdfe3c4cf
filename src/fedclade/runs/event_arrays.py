"""Arrays among the facts of an event: they stand in a file of their own, and the event says which is which.

The event has the name of the file and its SHA-256, and the log of events has a checksum in every checkpoint.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import Damaged, InputError
from fedclade.runs.durable import digest

Arrays: TypeAlias = dict[str, NDArray[np.generic]]
FOLDER = "arrays"
FILE_NAME = re.compile(r"[0-9]{5,10}-[a-z]{1,20}\.safetensors")
MOST_BYTES = 2**28  # of a file
ARRAY = "array"  # the key that stands for one
NUMBERS = "biuf"  # the kinds of arrays that a file can hold


def file_name(event: str, round_: object) -> str:
    """The file of an event's arrays."""
    return f"{round_ if isinstance(round_, int) else 0:05d}-{event}.safetensors"


def take_arrays(facts: Mapping[str, object]) -> tuple[dict[str, object], Arrays]:
    """The facts with a number in the place of each array, and the arrays by number; an error unless they are plain.

    Plain are None, words, numbers, arrays of numbers, and lists and dicts of these.
    """
    arrays: Arrays = {}
    plain = {str(name): take(value, str(name), arrays) for name, value in facts.items()}
    if (size := sum(array.nbytes for array in arrays.values())) > MOST_BYTES:
        raise InputError("facts are too large", where="an event", got=f"{size} bytes", need=f"at most {MOST_BYTES}")
    return plain, arrays


def take(value: object, name: str, arrays: Arrays) -> object:
    """One fact of this name."""
    if value is None or isinstance(value, bool | int | float | str | np.number | np.bool_):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        number = str(len(arrays))
        arrays[number] = np.asarray(value, order="C")
        return {ARRAY: number}
    if isinstance(value, Mapping):
        return {str(key): take(inner, f"{name}.{key}", arrays) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [take(inner, name, arrays) for inner in value]
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise InputError(
        "a fact cannot be written",
        where=name,
        got=kind,
        need="words, numbers, arrays of numbers, lists and dicts of them",
    )


def put_arrays(value: object, arrays: Mapping[str, NDArray[np.generic]]) -> object:
    """The facts with the arrays where they were; a name that there is no array of stays as it is."""
    if isinstance(value, list):
        return [put_arrays(inner, arrays) for inner in value]
    if not isinstance(value, Mapping):
        return value
    if set(value) == {ARRAY} and isinstance(value[ARRAY], str) and value[ARRAY] in arrays:
        return arrays[value[ARRAY]]
    return {key: put_arrays(inner, arrays) for key, inner in value.items()}


def file_of(event: Mapping[str, object]) -> tuple[str, str] | None:
    """The name of an event's file of arrays and its SHA-256; None if it has none."""
    if "arrays" not in event:
        return None
    named = event["arrays"]
    name, sha256 = (named.get("file"), named.get("sha256")) if isinstance(named, Mapping) else (None, None)
    if not isinstance(name, str) or not isinstance(sha256, str) or not FILE_NAME.fullmatch(name):
        raise Damaged("an event names no file of arrays", where="events.jsonl", got=repr(named)[:60])
    return name, sha256


def read_arrays(run: Path, event: Mapping[str, object]) -> Arrays:
    """The arrays of an event."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    named = file_of(event)
    if named is None:
        return {}
    path = run / FOLDER / named[0]
    if not path.is_file() or path.stat().st_size > 2 * MOST_BYTES:
        raise Damaged("the arrays of an event are gone", where=str(path), need="the file as it was written")
    try:
        content = path.read_bytes()
        if digest(content) == named[1]:
            return dict(load(content))
    except (OSError, ValueError, TypeError, KeyError, SafetensorError):
        pass
    raise Damaged("the arrays of an event are damaged", where=str(path), need="the file as it was written")
