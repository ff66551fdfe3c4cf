"""Npz: numpy's arrays in a zip archive."""

import math
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.files.open_file import check_unpacked, kind_of, open_checked, wrong_format_error

ARRAY_NAMES = (("inputs", "labels"), ("x", "y"))  # the names that the two arrays may have
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those that numpy writes


def read_npz(path: Path) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """The inputs and the labels of a file, under one of the pairs of names."""
    inputs, labels = read_arrays(path, lambda entries: find_pair(entries, path))
    return inputs, labels


def read_arrays(path: Path, pick: Callable[[list[str]], Sequence[str]]) -> list[NDArray[np.generic]]:
    """Some arrays of a file: those that `pick` names, of the entries that there are."""
    with open_checked(path) as (file, size):
        kind = kind_of(file.read(8))
        if kind != "a zip archive":
            raise wrong_format_error("npz", path, kind)
        try:
            with zipfile.ZipFile(file) as archive:
                check_unpacked(path, sum(entry.file_size for entry in archive.infolist()), size)
                names = pick(archive.namelist())
                for name in names:
                    check_entry(archive, archive.getinfo(f"{name}.npy"), path)
            file.seek(0)
            with np.load(file) as arrays:  # the default: an object array is refused
                return [arrays[name] for name in names]
        except InputError:
            raise
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            raise wrong_format_error("npz", path, str(error)[:200]) from None


def find_pair(entries: list[str], path: Path) -> tuple[str, str]:
    """The names of the two arrays, each there once."""
    found = [pair for pair in ARRAY_NAMES if any(f"{name}.npy" in entries for name in pair)]
    if len(found) != 1 or any(entries.count(f"{name}.npy") != 1 for name in found[0]):
        got = ", ".join(repr(entry.removesuffix(".npy")) for entry in entries[:10]) or "none"
        need = "inputs and labels, or x and y"
        raise InputError("the arrays are not the two that are needed", where=str(path), got=got, need=need)
    return found[0]


def check_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> None:
    """An error unless an array is plain numbers or text, and as large as its header says."""
    if entry.compress_type not in COMPRESSIONS:
        raise wrong_format_error("npz", path, f"compression of type {entry.compress_type}")
    where = f"{path}, {entry.filename}"
    with archive.open(entry) as member:
        version = npy.read_magic(member)
        if version not in ((1, 0), (2, 0)):
            raise InputError("the array's format is not known", where=where, got=str(version), need="1.0 or 2.0")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(member)
        claimed, there = math.prod(shape) * dtype.itemsize, entry.file_size - member.tell()
    if dtype.hasobject:
        got = "a pickle, which can run programs"
        do = "save it as numbers: array.astype(float)"
        raise InputError(
            "the array holds Python objects", where=where, got=got, need="numbers, or text as labels", do=do
        )
    if claimed != there or min(shape, default=0) < 0:
        got = f"{there} bytes"
        raise InputError("the array is not as large as it says", where=where, got=got, need=f"{claimed}, for {shape}")
