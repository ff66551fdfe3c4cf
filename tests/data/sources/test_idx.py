"""IDX files: read exactly, and every way to be wrong."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from data.sources.making import cut, idx_bytes, put
from fedclade.core import InputError
from fedclade.data.sources.idx import idx_file, idx_pool
from refusals import check_refused

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint16).astype(np.uint8).reshape(3, 28, 28)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """By hand, too: a row of two, (1, 1, 2), from the top left."""
    assert np.array_equal(idx_file(put(tmp_path / "a.gz", idx_bytes(IMAGES)), 3), IMAGES)
    path = put(tmp_path / "b.gz", bytes((0, 0, 8, 3)) + struct.pack(">III", 1, 1, 2) + bytes((7, 9)))
    assert idx_file(path, 3).tolist() == [[[7, 9]]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (idx_bytes(IMAGES)[:-1], "length is wrong"),
        (idx_bytes(IMAGES) + b"\0", "length is wrong"),
        (b"\0\0\x08\x01" + idx_bytes(IMAGES)[4:], "magic number is wrong"),
        (b"\0\0\x0d\x03" + idx_bytes(IMAGES)[4:], "magic number is wrong"),
        (b"", "magic number is wrong"),
        (b"\0\0\x08\x03\0\0", "cannot be read"),
        (bytes((0, 0, 8, 3)) + struct.pack(">III", *[2**32 - 1] * 3), "too large"),
        (bytes((0, 0, 8, 3)) + struct.pack(">III", 100_000, 28, 28), "too large"),  # more than gzip could hold in 40 B
    ],
)
def test_wrong_content_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = put(tmp_path / "a.gz", content)
    error = check_refused(said, idx_file, path, 3)
    assert str(path) in str(error)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    """Cut short; a bit that only the checksum can tell (level 0 stores bytes as they are); no gzip; no file."""
    path = put(tmp_path / "a.gz", idx_bytes(np.random.default_rng(0).integers(0, 256, (9, 28, 28), np.uint8)))
    cut(path)
    check_refused(r"cannot be read, .*a\.gz", idx_file, path, 3)
    packed = bytearray(gzip.compress(idx_bytes(IMAGES), compresslevel=0))
    packed[500] ^= 1
    for content in (packed, b"<html>not found</html>"):
        path.write_bytes(content)
        check_refused("cannot be read", idx_file, path, 3)
    check_refused("cannot be read", idx_file, tmp_path, 3)


def test_labels_must_fit() -> None:
    assert idx_pool(IMAGES, np.array([0, 1, 2], np.uint8), 3, "f").inputs.shape == (3, 1, 28, 28)
    with pytest.raises(InputError, match="do not fit the images, f: got 2 labels, need 3"):
        idx_pool(IMAGES, np.array([0, 1], np.uint8), 3, "f")
    check_refused("label is out of range, f", idx_pool, IMAGES, np.array([0, 1, 3], np.uint8), 3, "f")
    check_refused("wrong form", idx_pool, IMAGES[:, :27], np.array([0, 1, 2], np.uint8), 3, "f")
    check_refused("wrong form", idx_pool, IMAGES[:0], np.array([], np.uint8), 3, "f")
