"""Opening a file, and what is checked of any file."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fedclade.nouns import InputError

MOST_BYTES = 4 * 2**30  # of one file, packed or unpacked
UNSUSPICIOUS = 64 * 2**20  # bytes; what unpacks to more must not be packed too well
MOST_RATIO = 100  # unpacked to packed: measurements reach 10, bombs 1000

KINDS = {
    b"PK\x03\x04": "a zip archive",
    b"PAR1": "a parquet file",
    b"\x1f\x8b": "a gzip file",
    b"\x93NUMPY": "a single .npy array",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89HDF": "an HDF5 file",
    **{bytes((0x80, version)): "a pickle, which can run programs" for version in range(2, 6)},
}


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file to read from, and its size in bytes."""
    try:
        with open(path, "rb", opener=at_once) as file:
            known = os.fstat(file.fileno())
            if not stat.S_ISREG(known.st_mode):
                raise InputError("this is not a file", where=str(path), need="a regular file")
            if known.st_size == 0:
                raise InputError("the file is empty", where=str(path), got="0 bytes", need="data")
            check_size(path, known.st_size)
            yield file, known.st_size
    except FileNotFoundError:
        raise InputError("there is no such file", where=str(path), need="a file with data") from None
    except OSError as wrong:
        raise InputError(
            "the file cannot be read", where=str(path), got=wrong.strerror or str(wrong), need="a readable file"
        ) from None


def at_once(path: str, flags: int) -> int:
    """Open without waiting: the other end of a pipe may never come."""
    return os.open(path, flags | os.O_NONBLOCK)


def check_size(path: Path, size: int) -> None:
    """An error if so many bytes are more than this machine should be asked to hold."""
    if size > MOST_BYTES:
        raise InputError(
            "the data are too large",
            where=str(path),
            got=f"{size} bytes",
            need=f"at most {MOST_BYTES}",
            do="give a part of them",
        )


def check_unpacked(path: Path, size: int, packed: int) -> None:
    """An error if a file of `packed` bytes says that it unpacks to suspiciously many."""
    check_size(path, size)
    if size > UNSUSPICIOUS and size > MOST_RATIO * packed:
        raise InputError(
            "the file unpacks to suspiciously much",
            where=str(path),
            got=f"{size} bytes from {packed}",
            need=f"at most {MOST_RATIO} times as much",
            do="write it without compression, if it is what it should be",
        )


def kind_of(head: bytes) -> str:
    """What a file is by its first bytes; empty where these do not tell."""
    return next((kind for magic, kind in KINDS.items() if head.startswith(magic)), "")


def not_a(format: str, path: Path, got: str) -> InputError:
    """The error for a file that is not what its name says."""
    return InputError(
        f"the file is not {format}", where=str(path), got=got or "something else", need=f"{format}, as its name says"
    )
