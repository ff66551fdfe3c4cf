"""LEAF's FEMNIST: letters and digits with the people who wrote them (Caldas et al., 2018).

LEAF keeps dark ink on a light ground (1 is white), as floats that are 255ths; here they are bytes again.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.examples import Pool, Source, check_range
from fedclade.data.sources.bounded_reading import read_bounded, report_broken_file
from fedclade.data.sources.source_files import Files

CLASSES = tuple(digits + ascii_uppercase + ascii_lowercase)
SIDE = 28
MAX_BYTES = 2 << 30  # bytes of one JSON file; LEAF writes a hundred writers to a file, about 0.2e9

FILES = Files(
    source="femnist",
    layouts=(("train", "test"), ("data/train", "data/test")),
    folders=("femnist",),
    origin="LEAF (https://github.com/TalwalkarLab/leaf): data/femnist/preprocess.sh -s niid -t sample",
)

WriterData = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""One writer's images (n, 784) and labels (n,)."""


def femnist() -> Source:
    """Images (1, 28, 28), dark on light, of 62 classes; owners are the writers, numbered in the order of names."""
    train, test = ([*read_writers(folder)] for folder in FILES.find_or_fetch().values())
    numbers = {name: number for number, name in enumerate(sorted({name for name, _ in train + test}))}
    learned, tested = make_pool(train, numbers), make_pool(test, numbers)
    return Source("femnist", learned, classes=len(CLASSES), test=tested, class_names=CLASSES)


def make_pool(parts: list[tuple[str, WriterData]], numbers: dict[str, int]) -> Pool:
    """The images of all writers."""
    images = np.concatenate([images for _, (images, _) in parts]).reshape(-1, 1, SIDE, SIDE)
    owners = np.concatenate([np.full(len(labels), numbers[name], np.int64) for name, (_, labels) in parts])
    return Pool(images, np.concatenate([labels for _, (_, labels) in parts]), owners)


def read_writers(folder: Path) -> Iterator[tuple[str, WriterData]]:
    """Each writer of the folder's files, and what it wrote."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InputError("the folder has no JSON file", where=str(folder), need="LEAF's files, all_data_*.json")
    for path in files:
        with report_broken_file(path):
            # Floats become bytes writer by writer: 784 objects an image would fill the memory.
            found = json.loads(read_bounded(path, MAX_BYTES), object_hook=partial(pack_writer, path=path))
        writers = found.get("user_data") if isinstance(found, dict) else None
        if not isinstance(writers, dict) or not writers or not all(isinstance(it, tuple) for it in writers.values()):
            need = '"user_data": {writer: {"x": ..., "y": ...}}'
            raise InputError("the file is not LEAF's", where=str(path), need=need)
        yield from writers.items()


def pack_writer(table: dict[str, object], path: Path) -> dict[str, object] | WriterData:
    """A writer's table as arrays; any other table as it is."""
    if set(table) != {"x", "y"}:
        return table
    try:
        images, labels = np.asarray(table["x"], np.float64), np.asarray(table["y"])
    except TypeError as error:
        raise ValueError(str(error)) from None
    if images.ndim != 2 or images.shape[1] != SIDE * SIDE or labels.shape != images.shape[:1] or not len(labels):
        got = f"x {images.shape}, y {labels.shape}"
        raise InputError("a writer's data have the wrong form", where=str(path), got=got, need="x (n, 784), y (n,)")
    if labels.dtype.kind != "i":
        raise InputError("a label is not a whole number", where=str(path), got=str(labels.dtype))
    check_range("label", labels, len(CLASSES), str(path))
    if not ((images >= 0) & (images <= 1)).all():
        raise InputError("a pixel is out of range", where=str(path), need="0 to 1")
    return np.rint(images * 255).astype(np.uint8), labels.astype(np.int64)
