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

from fedclade.data.examples import Pool, Source, within
from fedclade.data.sources.finding import Files
from fedclade.data.sources.reading import expanded, reading
from fedclade.nouns import InputError

CLASSES = tuple(digits + ascii_uppercase + ascii_lowercase)
SIDE = 28
MOST = 2 << 30  # bytes of one JSON file; LEAF writes a hundred writers to a file, about 0.2e9

FILES = Files(
    source="femnist",
    layouts=(("train", "test"), ("data/train", "data/test")),
    folders=("femnist",),
    origin="LEAF (https://github.com/TalwalkarLab/leaf): data/femnist/preprocess.sh -s niid -t sample",
)

Written = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""One writer's images (n, 784) and labels (n,)."""


def femnist() -> Source:
    """Images (1, 28, 28), dark on light, of 62 classes; owners are the writers, numbered in the order of names."""
    train, test = ([*written(folder)] for folder in FILES.fetched().values())
    numbers = {name: number for number, name in enumerate(sorted({name for name, _ in train + test}))}
    return Source(
        "femnist", pooled(train, numbers), classes=len(CLASSES), test=pooled(test, numbers), class_names=CLASSES
    )


def pooled(parts: list[tuple[str, Written]], numbers: dict[str, int]) -> Pool:
    """What all writers wrote."""
    images = np.concatenate([images for _, (images, _) in parts]).reshape(-1, 1, SIDE, SIDE)
    owners = np.concatenate([np.full(len(labels), numbers[name], np.int64) for name, (_, labels) in parts])
    return Pool(images, np.concatenate([labels for _, (_, labels) in parts]), owners)


def written(folder: Path) -> Iterator[tuple[str, Written]]:
    """Each writer of the folder's files, and what it wrote."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InputError("the folder has no JSON file", where=str(folder), need="LEAF's files, all_data_*.json")
    for path in files:
        with reading(path):  # floats become bytes writer by writer: 784 objects an image would fill the memory
            found = json.loads(expanded(path, MOST), object_hook=partial(packed, path=path))
        writers = found.get("user_data") if isinstance(found, dict) else None
        if not isinstance(writers, dict) or not writers or not all(isinstance(it, tuple) for it in writers.values()):
            raise InputError(
                "the file is not LEAF's", where=str(path), need='"user_data": {writer: {"x": ..., "y": ...}}'
            )
        yield from writers.items()


def packed(table: dict[str, object], path: Path) -> dict[str, object] | Written:
    """A writer's table as arrays; any other table as it is."""
    if set(table) != {"x", "y"}:
        return table
    try:
        images, labels = np.asarray(table["x"], np.float64), np.asarray(table["y"])
    except TypeError as wrong:
        raise ValueError(str(wrong)) from None
    if images.ndim != 2 or images.shape[1] != SIDE * SIDE or labels.shape != images.shape[:1] or not len(labels):
        got = f"x {images.shape}, y {labels.shape}"
        raise InputError("a writer's data have the wrong form", where=str(path), got=got, need="x (n, 784), y (n,)")
    if labels.dtype.kind != "i":
        raise InputError("a label is not a whole number", where=str(path), got=str(labels.dtype))
    within("label", labels, len(CLASSES), str(path))
    if not ((images >= 0) & (images <= 1)).all():
        raise InputError("a pixel is out of range", where=str(path), need="0 to 1")
    return np.rint(images * 255).astype(np.uint8), labels.astype(np.int64)
