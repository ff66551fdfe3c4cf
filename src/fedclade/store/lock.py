"""One writer for a run folder: it is known by its process, and its lock ends with it."""

import fcntl
import os
import socket
import struct
import sys
import time
from pathlib import Path
from typing import IO

from fedclade.core import InputError, Stopped
from fedclade.store.files import LOCK_FILE

MAX_TRIES = 10
MAX_HOLDER_BYTES = 1000  # of the holder's name in the lock file

# struct flock of fcntl: its fields stand in another order on Linux than on BSD and macOS.
FLOCK_FIELDS, FLOCK_FORMAT = (
    (("type", "whence", "start", "length", "process"), "hhqqi4x")
    if sys.platform == "linux"
    else (("start", "length", "process", "type", "whence"), "qqihh")
)
FLOCK_QUERY = {"type": fcntl.F_WRLCK, "whence": os.SEEK_SET, "start": 0, "length": 0, "process": 0}

held_here: set[Path] = set()  # a record lock keeps other processes out, not this one


def acquire(path: Path) -> IO[str]:
    """Keep every other writer out of this folder until `release`."""
    path = path.resolve()
    if path in held_here:
        raise locked_error(path, holder_of(path))
    try:
        file = open(path / LOCK_FILE, "a+", encoding="utf-8")  # noqa: SIM115  # held as long as the run is
    except OSError as error:
        got = error.strerror or str(error)
        raise InputError("the run folder cannot be written", where=str(path), got=got) from None
    for _ in range(MAX_TRIES):
        try:
            # A record lock and not flock: workers are forked while it is held, and must not keep it.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:  # a writer; or one that is just letting go
            time.sleep(0.02)
    else:
        holder = holder_of(path)
        file.close()
        raise locked_error(path, holder or "another process")
    held_here.add(path)
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    file.flush()
    return file


def release(path: Path, file: IO[str]) -> None:
    """Let other writers in."""
    held_here.discard(path.resolve())
    file.close()


def holder_of(path: Path) -> str:
    """The process that holds the lock of this folder; empty if none does. Asking takes no lock."""
    path = path.resolve()
    if path in held_here:
        return f"process {os.getpid()} on {socket.gethostname()}"
    try:
        with open(path / LOCK_FILE, "rb", opener=open_without_blocking) as file:
            question = struct.pack(FLOCK_FORMAT, *(FLOCK_QUERY[field] for field in FLOCK_FIELDS))
            answer = struct.unpack(FLOCK_FORMAT, fcntl.fcntl(file, fcntl.F_GETLK, question))
            if answer[FLOCK_FIELDS.index("type")] != fcntl.F_UNLCK:
                return file.read(MAX_HOLDER_BYTES).decode(errors="replace").strip() or "another process"
    except OSError:
        pass
    return ""


def open_without_blocking(path: str, flags: int) -> int:
    """Open a file, and never wait for the other end of a pipe that stands in its place."""
    return os.open(path, flags | os.O_NONBLOCK)


def locked_error(path: Path, holder: str) -> Stopped:
    """The error for the second writer."""
    do = "wait for it, or stop it"
    return Stopped("the run is being written", where=str(path), got=holder, need="one writer", do=do)
