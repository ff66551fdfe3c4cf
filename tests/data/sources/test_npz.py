"""Whole numbers out of an npz, and what is refused."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data.sources.making import cut
from fedclade.data.sources.npz import npz_numbers
from refusals import check_refused


def test_numbers_and_booleans(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.array([3, 1], np.int16), b=np.array([True, False]))
    first, second = npz_numbers(path, ("a", "b"), 1000)
    assert first.dtype == np.int64
    assert (first.tolist(), second.tolist()) == ([3, 1], [1, 0])


@pytest.mark.parametrize(
    "array", [np.array([{}], object), np.array([1.5]), np.array(["a"]), np.zeros((2, 2), int), np.array(3)]
)
def test_other_kinds_are_refused(tmp_path: Path, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=array)
    check_refused(r"wrong kind, .*a\.npz, a", npz_numbers, path, ("a",), 1000)


def test_bounds_and_broken_files(tmp_path: Path) -> None:
    """Too large; absent; a header that promises more than there is; no array; cut short."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros(100_000, np.int64))
    check_refused("too large", npz_numbers, path, ("a",), 1000)
    check_refused("array is missing", npz_numbers, path, ("b",), 1000)
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<i8", "fortran_order": False, "shape": (1 << 40,)})
    for content, said in ((stream.getvalue() + b"\0" * 8, "length is wrong"), (b"not an array", "cannot be read")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", content)
        check_refused(said, npz_numbers, path, ("a",), 1000)
    np.savez(path, a=np.arange(100))
    cut(path)
    check_refused("cannot be read", npz_numbers, path, ("a",), 10_000)
