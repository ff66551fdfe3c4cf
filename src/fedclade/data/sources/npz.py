"""Arrays of numbers out of an npz, each bounded before it is read."""

import io
import math
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.sources.bounded_reading import report_broken_file, too_large_error

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def npz_numbers(path: Path, names: tuple[str, ...], max_bytes: int) -> tuple[NDArray[np.int64], ...]:
    """These arrays, one axis of whole numbers or booleans each, of at most so many bytes each."""
    with report_broken_file(path), zipfile.ZipFile(path) as archive:
        there = set(archive.namelist())
        for name in names:
            if f"{name}.npy" not in there:
                raise InputError("an array is missing", where=str(path), got=", ".join(sorted(there)), need=name)
        return tuple(
            read_numbers(archive.open(f"{name}.npy").read(max_bytes + 1), max_bytes, f"{path}, {name}")
            for name in names
        )


def read_numbers(content: bytes, max_bytes: int, where: str) -> NDArray[np.int64]:
    """The whole numbers of one npy."""
    if len(content) > max_bytes:
        raise too_large_error(where, f"over {max_bytes:,} bytes", f"at most {max_bytes:,} bytes")
    stream = io.BytesIO(content)
    header = HEADERS.get(npy.read_magic(stream))
    if header is None:
        raise InputError("the npy version is not known", where=where, need="1.0 or 2.0")
    shape, _, kind = header(stream)
    if kind.kind not in "biu" or len(shape) != 1:
        got = f"{kind} {shape}"
        raise InputError("the array is of the wrong kind", where=where, got=got, need="whole numbers (n,)")
    if math.prod(shape) * kind.itemsize != len(content) - stream.tell():  # numpy would allocate what the header says
        raise InputError("the length is wrong", where=where, got=f"{len(content):,} bytes", need=f"{shape} of {kind}")
    array: NDArray[np.int64] = np.load(io.BytesIO(content)).astype(np.int64)
    return array
