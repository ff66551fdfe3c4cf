"""Small files in the forms that the sources read, made without the code under test."""

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fedclade.data import Pool, Source
from fedclade.data.registry import SOURCES

MNIST_NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def load(name: str) -> tuple[Source, Pool]:
    """A source and its test pool."""
    source = SOURCES[name].load()
    assert source.test is not None
    return source, source.test


def idx_bytes(array: NDArray[np.uint8]) -> bytes:
    """An IDX file, not packed."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


def put(path: Path, content: bytes) -> Path:
    """A file with its folders; packed if its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def put_idx(folder: Path, names: tuple[str, ...], train: int = 6, test: int = 4) -> list[NDArray[np.uint8]]:
    """Four IDX files: images of noise, labels 0, 1, 2 ...; and what is in them."""
    generator = np.random.default_rng(0)
    arrays = []
    for images, labels, count in ((names[0], names[1], train), (names[2], names[3], test)):
        arrays += [generator.integers(0, 256, (count, 28, 28), np.uint8), np.arange(count, dtype=np.uint8)]
        put(folder / images, idx_bytes(arrays[-2]))
        put(folder / labels, idx_bytes(arrays[-1]))
    return arrays


def tar_bytes(members: dict[str, bytes], odd: tarfile.TarInfo | None = None) -> bytes:
    """A tar of these files, and one odd member after them."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        if odd is not None:
            tar.addfile(odd)
    return stream.getvalue()


def picture(array: NDArray[np.uint8], kind: str) -> bytes:
    """A picture file of (height, width, 3) or (height, width) pixels."""
    stream = io.BytesIO()
    Image.fromarray(array).save(stream, kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {}))
    return stream.getvalue()


def cut(path: Path, share: float = 0.6) -> None:
    """Keep only the beginning of a file."""
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
