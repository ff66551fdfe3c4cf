"""CIFAR-10: 60,000 small colour photographs of ten things (Krizhevsky, 2009).

Read from the official binary archive, or from batches kept as lossless WebP (a mosaic of 32 x 32 tiles, row by row).
The official python archive is a pickle, which could run code: it is not read.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.data.examples import Pool, Source, labelled_pool
from fedclade.data.sources.cifar import SHAPE, cifar_members, cifar_pool
from fedclade.data.sources.npz import npz_numbers
from fedclade.data.sources.pictures import pixels
from fedclade.data.sources.source_files import Files

BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = "test_batch"
ARCHIVE = "cifar-10-binary.tar.gz"
LABELS = "labels.npz"
MAX_LABEL_BYTES = 1 << 20  # bytes of an array; 50,000 take 0.4e6 as int64
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

FILES = Files(
    source="cifar10",
    layouts=((ARCHIVE,), (*(f"{batch}.webp" for batch in (*BATCHES, TEST)), LABELS)),
    folders=("cifar10", ""),
    origin="https://www.cs.toronto.edu/~kriz/cifar.html ('binary version')",
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    official={ARCHIVE: "c32a1d4ab5d03f1284b67883e8d87530"},
    pickle_files=("cifar-10-python.tar.gz", "cifar-10-batches-py"),
)


def cifar10() -> Source:
    """50,000 and 10,000 images (3, 32, 32) of ten classes."""
    paths = FILES.find_or_fetch()
    train, test = from_archive(paths[ARCHIVE]) if ARCHIVE in paths else from_mosaics(paths)
    return Source("cifar10", train, classes=10, test=test, class_names=CLASSES)


def from_archive(path: Path) -> tuple[Pool, Pool]:
    """The pools out of the official binary archive."""
    *batches, test = cifar_members(path, tuple(f"{batch}.bin" for batch in (*BATCHES, TEST))).values()
    return cifar_pool(batches, 1, 10, path), cifar_pool([test], 1, 10, path)


def from_mosaics(paths: dict[str, Path]) -> tuple[Pool, Pool]:
    """The pools out of WebP files and their labels."""
    learned, tested = npz_numbers(paths[LABELS], ("y_train", "y_test"), MAX_LABEL_BYTES)
    images = np.concatenate([tiles(paths[f"{batch}.webp"]) for batch in BATCHES])
    test_images = tiles(paths[f"{TEST}.webp"])
    where = paths[LABELS]
    return labelled_pool(images, learned, 10, where), labelled_pool(test_images, tested, 10, where)


def tiles(path: Path) -> NDArray[np.uint8]:
    """The images (n, 3, 32, 32) of a mosaic."""
    _, high, wide = SHAPE
    mosaic = pixels(path, "WEBP", (high, 100 * high), path)
    rows, columns = mosaic.shape[0] // high, mosaic.shape[1] // wide
    return mosaic.reshape(rows, high, columns, wide, 3).transpose(0, 2, 4, 1, 3).reshape(-1, *SHAPE)
