"""EMNIST balanced: 131,600 letters and digits of 47 classes (Cohen, Afshar, Tapson, van Schaik, 2017).

The official files have rows and columns exchanged; here the images are upright. Letters with two forms that look
alike (c, i, j, k, ...) are one class under the capital letter.
"""

import zipfile
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.examples import Source
from fedclade.data.sources.bounded_reading import report_broken_file
from fedclade.data.sources.idx import idx, idx_file, idx_pool
from fedclade.data.sources.source_files import Files

PARTS = ("train-images-idx3", "train-labels-idx1", "test-images-idx3", "test-labels-idx1")
NAMES = tuple(f"emnist-balanced-{part}-ubyte.gz" for part in PARTS)
ZIP = "gzip.zip"
CLASSES = tuple("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt")

FILES = Files(
    source="emnist",
    layouts=(NAMES, (ZIP,)),
    folders=("emnist", ""),
    origin="https://www.nist.gov/itl/products-and-services/emnist-dataset",
    mirrors=("https://biometrics.nist.gov/cs_links/EMNIST/",),
    official={ZIP: "58c8d27c78d21e728a6bc7b3cc06412e"},
)


def emnist() -> Source:
    """112,800 and 18,800 images (1, 28, 28), light on dark and upright, of 47 classes."""
    paths = FILES.find_or_fetch()
    where = paths.get(ZIP) or paths[NAMES[0]]
    files = [idx_from_zip(where, name) if ZIP in paths else idx_file(paths[name], axes(name)) for name in NAMES]
    train, test = (  # rows and columns exchanged back
        idx_pool(images.swapaxes(1, 2), labels, len(CLASSES), where) for images, labels in (files[:2], files[2:])
    )
    return Source("emnist", train, classes=len(CLASSES), test=test, class_names=CLASSES)


def axes(name: str) -> int:
    """The number of axes of the IDX file of this name."""
    return 3 if "idx3" in name else 1


def idx_from_zip(path: Path, name: str) -> NDArray[np.uint8]:
    """The IDX file of this name out of the official zip, in which it is gzipped."""
    with report_broken_file(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if PurePosixPath(member.filename).name == name:
                with archive.open(member) as packed:
                    return idx(packed, member.file_size, axes(name), f"{path}, {name}")
    raise InputError("a file is missing in the archive", where=str(path), need=name)
