"""Open a file, with the checks that any file must pass."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fedclade.core import InputError

MAX_BYTES = 4 * 2**30  # of one file, packed or unpacked
SAFE_UNPACKED_BYTES = 64 * 2**20  # bytes; what unpacks to more must not be packed too well
MAX_COLUMNS = 100_000
MAX_RATIO = 100  # unpacked to packed: measurements reach 10, bombs 1000

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
def open_checked(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file to read from, and its size in bytes."""
    try:
        with open(path, "rb", opener=open_nonblocking) as file:
            known = os.fstat(file.fileno())
            if not stat.S_ISREG(known.st_mode):
                raise InputError("this is not a file", where=str(path), need="a regular file")
            if known.st_size == 0:
                raise InputError("the file is empty", where=str(path), got="0 bytes", need="data")
            check_size(path, known.st_size)
            yield file, known.st_size
    except FileNotFoundError:
        raise InputError("there is no such file", where=str(path), need="a file with data") from None
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError("the file cannot be read", where=str(path), got=got, need="a readable file") from None


def open_nonblocking(path: str, flags: int) -> int:
    """Open without waiting: the other end of a pipe may never come."""
    return os.open(path, flags | os.O_NONBLOCK)


def check_size(path: Path, size: int) -> None:
    """An error if so many bytes are more than this machine should be asked to hold."""
    if size > MAX_BYTES:
        got, do = f"{size} bytes", "give a part of them"
        raise InputError("the data are too large", where=str(path), got=got, need=f"at most {MAX_BYTES}", do=do)


def check_unpacked(path: Path, size: int, packed: int) -> None:
    """An error if a file of `packed` bytes says that it unpacks to suspiciously many."""
    check_size(path, size)
    if size > SAFE_UNPACKED_BYTES and size > MAX_RATIO * packed:
        got, need = f"{size} bytes from {packed}", f"at most {MAX_RATIO} times as much"
        do = "write it without compression, if it is what it should be"
        raise InputError("the file unpacks to suspiciously much", where=str(path), got=got, need=need, do=do)


def check_column_count(path: Path, columns: int) -> None:
    """An error if a table has more columns than a table of examples can have."""
    if columns > MAX_COLUMNS:
        raise InputError("there are too many columns", where=str(path), got=str(columns), need=f"at most {MAX_COLUMNS}")


def check_ending(path: Path, known: tuple[str, ...]) -> None:
    """An error unless the file's ending is one of the known ones."""
    if not path.name.lower().endswith(known):
        got, need = f'"{path.suffix}"', ", ".join(known)
        do = "convert the file, or leave it out"
        raise InputError("the ending is not known", where=str(path), got=got, need=need, do=do)


def kind_of(head: bytes) -> str:
    """The kind of a file by its first bytes; empty where they do not show it."""
    return next((kind for magic, kind in KINDS.items() if head.startswith(magic)), "")


def wrong_format_error(format: str, path: Path, got: str) -> InputError:
    """The error for a file that is not what its name says."""
    need = f"{format}, as its name says"
    return InputError(f"the file is not {format}", where=str(path), got=got or "something else", need=need)
