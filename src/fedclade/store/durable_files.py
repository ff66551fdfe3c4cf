"""Files that survive a kill and a power cut: written aside, synced, renamed; logs that can be cut back."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from fedclade.core import Damaged
from fedclade.store.files import partial_name


def sync_folder(folder: Path) -> None:
    """Make files durable that were created, renamed or removed in this folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_synced(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_file(path: Path, content: bytes) -> None:
    """Write a file: it has all of its new content, or is as it was before."""
    aside = path.with_name(partial_name(path.name))
    _write_synced(aside, content)
    os.replace(aside, path)
    sync_folder(path.parent)


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder: it has all of these files, or is not there. One of this name from before is replaced."""
    aside = path.with_name(partial_name(path.name))
    if aside.exists():
        shutil.rmtree(aside)
    first = not path.parent.exists()
    aside.mkdir(parents=True)
    if first:
        sync_folder(path.parent.parent)
    for name, content in files.items():
        _write_synced(aside / name, content)
    sync_folder(aside)
    if path.exists():
        shutil.rmtree(path)
    os.rename(aside, path)
    sync_folder(path.parent)


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


Repair = Callable[[bytes], bytes]
"""From a damaged log to the part that can be kept."""


def whole_lines(content: bytes) -> bytes:
    """The lines that are whole and hold JSON."""
    kept: list[bytes] = []
    for line in content.split(b"\n")[:-1]:
        with suppress(ValueError):
            json.loads(line)
            kept.append(line + b"\n")
    return b"".join(kept)


def good_part(path: Path, mark: Mapping[str, str | int], repair: Repair | None) -> bytes:
    """A log up to its mark, or the part that can be kept of a damaged one."""
    content = path.read_bytes() if path.exists() else b""
    good = content[: int(mark["bytes"])]
    if digest(good) == mark["sha256"]:
        return good
    if repair is not None:
        return repair(good)
    got, need = f"{len(content)} bytes that do not match their checksum", f"the {mark['bytes']} bytes that were written"
    do = f"restore the file, or go on without the lost facts: fedclade resume --repair {path.parent}"
    raise Damaged(f"{path.name} is damaged", where=str(path), got=got, need=need, do=do)


EMPTY_MARK: Mapping[str, str | int] = {"bytes": 0, "sha256": digest(b"")}


class Log:
    """A file that only grows. Its mark is noted in checkpoints; content behind that is cut off."""

    def __init__(self, path: Path, mark: Mapping[str, str | int] = EMPTY_MARK, repair: Repair | None = None) -> None:
        good = good_part(path, mark, repair)
        write_file(path, good)
        self._hash, self._size = hashlib.sha256(good), len(good)
        self._file = open(path, "ab")  # noqa: SIM115  # open as long as the run is

    @property
    def mark(self) -> dict[str, str | int]:
        """How far the log goes, and the checksum of all of it."""
        return {"bytes": self._size, "sha256": self._hash.hexdigest()}

    def append(self, content: bytes) -> None:
        """Add to the log; `sync` makes it durable."""
        self._file.write(content)
        self._hash.update(content)
        self._size += len(content)

    def sync(self) -> None:
        """Make everything so far durable."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # synced before, or its failure was reported then
            self._file.close()
