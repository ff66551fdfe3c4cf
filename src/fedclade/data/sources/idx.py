"""IDX, the format of MNIST and its relatives: a magic number, the sizes, then the bytes."""

import gzip
import math
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.examples import Pool, labelled_pool
from fedclade.data.sources.bounded_reading import report_broken_file, too_large_error

MAX_BYTES = 1 << 30  # bytes; EMNIST's largest file has 0.55e9
MAX_GZIP_RATIO = 1032  # deflate cannot pack tighter than this
UNSIGNED_BYTES = 8  # the only kind of number that these files use
SIDE = 28


def idx_file(path: Path, axes: int) -> NDArray[np.uint8]:
    """The bytes of a gzipped IDX file with so many axes."""
    with report_broken_file(path), path.open("rb") as file:
        return idx(file, path.stat().st_size, axes, path)


def idx(packed: IO[bytes], size: int, axes: int, where: Path | str) -> NDArray[np.uint8]:
    """The same from a gzip stream of so many packed bytes; lengths are checked before anything is allocated."""
    stream = gzip.GzipFile(fileobj=packed)
    header = stream.read(4 + 4 * axes)
    magic = bytes((0, 0, UNSIGNED_BYTES, axes))
    if header[:4] != magic:
        raise InputError("the magic number is wrong", where=str(where), got=header[:4].hex(), need=magic.hex())
    if len(header) < 4 + 4 * axes:
        raise EOFError("cut short")
    shape = tuple(int(length) for length in np.frombuffer(header[4:], ">u4"))
    count = math.prod(shape)
    if count > min(MAX_BYTES, MAX_GZIP_RATIO * size):
        raise too_large_error(
            where, f"{shape}", f"at most {min(MAX_BYTES, MAX_GZIP_RATIO * size):,} bytes from {size:,} packed ones"
        )
    content = stream.read(count + 1)
    if len(content) != count:
        got = f"{len(content):,} bytes" if len(content) < count else "more bytes"
        raise InputError("the length is wrong", where=str(where), got=got, need=f"{count:,} for {shape}")
    stream.read(1)  # gzip compares its checksum where the file ends
    return np.frombuffer(content, np.uint8).reshape(shape)


def idx_pool(images: NDArray[np.uint8], labels: NDArray[np.uint8], classes: int, where: Path | str) -> Pool:
    """Images (n, 28, 28) and labels (n,) as a pool of (n, 1, 28, 28)."""
    if len(images) == 0 or images.shape[1:] != (SIDE, SIDE):
        raise InputError("the images have the wrong form", where=str(where), got=str(images.shape), need="(n, 28, 28)")
    return labelled_pool(np.ascontiguousarray(images).reshape(-1, 1, SIDE, SIDE), labels, classes, where)


def idx_pools(paths: Iterable[Path], classes: int) -> tuple[Pool, Pool]:
    """The training and the test pool of four files: images and labels to train with, then those to test with."""
    images, labels, test_images, test_labels = paths
    return (
        idx_pool(idx_file(images, 3), idx_file(labels, 1), classes, images),
        idx_pool(idx_file(test_images, 3), idx_file(test_labels, 1), classes, test_images),
    )
