"""CIFAR's binary form: a tar of batches; each record is its labels, then 3 x 32 x 32 bytes."""

from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.examples import Pool, labelled_pool
from fedclade.data.sources.bounded_reading import read_bounded, tar_members

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
MAX_BYTES = 200_000_000  # bytes; the official archives unpack to 0.184e9


def cifar_members(path: Path, names: tuple[str, ...]) -> dict[str, memoryview]:
    """The files of these names in the archive."""
    found = {PurePosixPath(name).name: inside for name, inside in tar_members(read_bounded(path, MAX_BYTES), path)}
    for name in names:
        if name not in found:
            raise InputError("a file is missing in the archive", where=str(path), need=name)
    return {name: found[name] for name in names}


def cifar_pool(batches: list[memoryview], labels: int, classes: int, where: Path) -> Pool:
    """Records with so many labels each, the last of which counts, as a pool of (n, 3, 32, 32)."""
    width = labels + PIXELS
    for batch in batches:
        if not len(batch) or len(batch) % width:
            got = f"{len(batch):,} bytes"
            raise InputError("a batch has the wrong length", where=str(where), got=got, need=f"a multiple of {width:,}")
    records = [np.frombuffer(batch, np.uint8).reshape(-1, width) for batch in batches]
    images: NDArray[np.uint8] = np.concatenate([record[:, labels:] for record in records]).reshape(-1, *SHAPE)
    return labelled_pool(images, np.concatenate([record[:, labels - 1] for record in records]), classes, where)
