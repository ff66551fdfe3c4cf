"""IDX files: read exactly, and every way to be wrong."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from data.sources.making import cut, idx_bytes, put
from fedclade.data.sources.idx import idx_file, idx_pool
from fedclade.nouns import InputError

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint16).astype(np.uint8).reshape(3, 28, 28)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = put(tmp_path / "a.gz", idx_bytes(IMAGES))
    assert np.array_equal(idx_file(path, 3), IMAGES)


def test_the_first_pixel_is_the_top_left(tmp_path: Path) -> None:
    """By hand: a row of two, (1, 1, 2)."""
    path = put(tmp_path / "a.gz", bytes((0, 0, 8, 3)) + struct.pack(">III", 1, 1, 2) + bytes((7, 9)))
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
    with pytest.raises(InputError, match=said) as caught:
        idx_file(path, 3)
    assert str(path) in str(caught.value)


def test_a_cut_file_is_named(tmp_path: Path) -> None:
    path = put(tmp_path / "a.gz", idx_bytes(np.random.default_rng(0).integers(0, 256, (9, 28, 28), np.uint8)))
    cut(path)
    with pytest.raises(InputError, match=r"cannot be read, .*a\.gz"):
        idx_file(path, 3)


def test_a_flipped_bit_is_found_by_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    packed = bytearray(gzip.compress(idx_bytes(IMAGES), compresslevel=0))
    packed[500] ^= 1  # level 0 stores the bytes as they are: only the checksum can tell
    path.write_bytes(packed)
    with pytest.raises(InputError, match="cannot be read"):
        idx_file(path, 3)


def test_not_gzip_and_not_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match="cannot be read"):
        idx_file(path, 3)
    with pytest.raises(InputError, match="cannot be read"):
        idx_file(tmp_path, 3)


def test_labels_must_fit() -> None:
    assert idx_pool(IMAGES, np.array([0, 1, 2], np.uint8), 3, "f").inputs.shape == (3, 1, 28, 28)
    with pytest.raises(InputError, match="do not fit the images, f: got 2 labels, need 3"):
        idx_pool(IMAGES, np.array([0, 1], np.uint8), 3, "f")
    with pytest.raises(InputError, match="label is out of range, f"):
        idx_pool(IMAGES, np.array([0, 1, 3], np.uint8), 3, "f")
    with pytest.raises(InputError, match="wrong form"):
        idx_pool(IMAGES[:, :27], np.array([0, 1, 2], np.uint8), 3, "f")
    with pytest.raises(InputError, match="wrong form"):
        idx_pool(IMAGES[:0], np.array([], np.uint8), 3, "f")
