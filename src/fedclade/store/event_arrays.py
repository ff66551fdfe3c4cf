"""Arrays among the facts of an event: they stand in a file of their own, and the event says which is which.

The event has the name of the file and its SHA-256, and the log of events has a checksum in every checkpoint.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from fedclade.core import Damaged, InputError
from fedclade.store.durable_files import digest, write_file
from fedclade.store.events import ArrayFile, Event
from fedclade.store.files import ARRAYS_FOLDER, EVENTS_FILE

EventArrays: TypeAlias = dict[str, NDArray[np.generic]]
FILE_NAME = re.compile(r"[0-9]{5,10}-[a-z]{1,20}\.safetensors")
MAX_BYTES = 2**28  # of a file
ARRAY_KEY = "array"  # {ARRAY_KEY: number} stands for an array
NUMBER_KINDS = "biuf"  # numpy's kinds of arrays that a file can hold


def extract_arrays(line: Mapping[str, object]) -> tuple[dict[str, object], EventArrays]:
    """An event's line with a number in the place of each array, and the arrays by number; an error unless it is plain.

    Plain are None, text, numbers, arrays of numbers, and lists and dicts of these.
    """
    arrays: EventArrays = {}
    plain = {name: extract_value(value, name, arrays) for name, value in line.items()}
    if (size := sum(array.nbytes for array in arrays.values())) > MAX_BYTES:
        raise InputError("facts are too large", where="an event", got=f"{size} bytes", need=f"at most {MAX_BYTES}")
    return plain, arrays


def extract_value(value: object, name: str, arrays: EventArrays) -> object:
    """One value, and all in it, with its arrays added to `arrays`."""
    if value is None or isinstance(value, bool | int | float | str | np.number | np.bool_):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBER_KINDS:
        number = str(len(arrays))
        arrays[number] = np.asarray(value, order="C")
        return {ARRAY_KEY: number}
    if isinstance(value, Mapping):
        return {str(key): extract_value(inner, f"{name}.{key}", arrays) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [extract_value(inner, name, arrays) for inner in value]
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    need = "words, numbers, arrays of numbers, lists and dicts of them"
    raise InputError("a fact cannot be written", where=name, got=kind, need=need)


def insert_arrays(value: object, arrays: EventArrays) -> object:
    """A value of an event with the arrays where they were; a number that there is no array of stays as it is."""
    if isinstance(value, list):
        return [insert_arrays(inner, arrays) for inner in value]
    if not isinstance(value, Mapping):
        return value
    if set(value) == {ARRAY_KEY} and isinstance(value[ARRAY_KEY], str) and value[ARRAY_KEY] in arrays:
        return arrays[value[ARRAY_KEY]]
    return {key: insert_arrays(inner, arrays) for key, inner in value.items()}


def write_arrays(run: Path, event: Event, arrays: EventArrays) -> ArrayFile:
    """Write the file of an event's arrays; the event must name it."""
    name, content = f"{event.round:05d}-{event.kind}.safetensors", safetensors.numpy.save(arrays)
    (run / ARRAYS_FOLDER).mkdir(exist_ok=True)
    write_file(run / ARRAYS_FOLDER / name, content)
    return ArrayFile(name, digest(content))


def array_path(named: ArrayFile) -> str:
    """The place of a file of arrays in its run; an error if an event names another file."""
    if not named.sha256 or not FILE_NAME.fullmatch(named.file):
        raise Damaged("an event names no file of arrays", where=EVENTS_FILE, got=repr(named.file)[:60])
    return f"{ARRAYS_FOLDER}/{named.file}"


def read_arrays(run: Path, named: ArrayFile) -> EventArrays:
    """The arrays of an event, from the file that it names."""
    path = run / array_path(named)
    if not path.is_file() or path.stat().st_size > 2 * MAX_BYTES:
        raise Damaged("the arrays of an event are gone", where=str(path), need="the file as it was written")
    try:
        content = path.read_bytes()
        if digest(content) == named.sha256:
            return dict(safetensors.numpy.load(content))
    except (OSError, ValueError, TypeError, KeyError, safetensors.SafetensorError):
        pass
    raise Damaged("the arrays of an event are damaged", where=str(path), need="the file as it was written")
