"""One writer for a run folder, known by name, and gone when its process is."""

import fcntl
import os
import socket
import struct
import sys
import time
from pathlib import Path
from typing import IO

from fedclade.nouns import InputError, Stopped

NAME = "lock"
PATIENCE = 10  # tries
LONGEST = 1000  # bytes of a holder's name

# What fcntl asks with, struct flock: its fields stand in another order on Linux than on BSD and macOS.
FIELDS, ASKED = (
    (("type", "whence", "start", "length", "process"), "hhqqi4x")
    if sys.platform == "linux"
    else (("start", "length", "process", "type", "whence"), "qqihh")
)
QUESTION = {"type": fcntl.F_WRLCK, "whence": os.SEEK_SET, "start": 0, "length": 0, "process": 0}

held_here: set[Path] = set()  # a record lock keeps other processes out, not this one


def hold(path: Path) -> IO[str]:
    """Keep every other writer out of this folder until `let_go`."""
    path = path.resolve()
    if path in held_here:
        raise taken(path, holder_of(path))
    try:
        file = open(path / NAME, "a+", encoding="utf-8")  # noqa: SIM115  # held as long as the run is
    except OSError as wrong:
        raise InputError(
            "the run folder cannot be written", where=str(path), got=wrong.strerror or str(wrong)
        ) from None
    for _ in range(PATIENCE):
        try:
            # A record lock and not flock: workers are forked while it is held, and must not keep it.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:  # a writer; or one that is just letting go
            time.sleep(0.02)
    else:
        holder = holder_of(path)
        file.close()
        raise taken(path, holder or "another process")
    held_here.add(path)
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    file.flush()
    return file


def let_go(path: Path, file: IO[str]) -> None:
    """Others may write."""
    held_here.discard(path.resolve())
    file.close()


def holder_of(path: Path) -> str:
    """Who holds the lock of this folder; empty if nobody does. It is only asked, so that who looks keeps nobody out."""
    path = path.resolve()
    if path in held_here:
        return f"process {os.getpid()} on {socket.gethostname()}"
    try:
        with open(path / NAME, "rb", opener=without_waiting) as file:
            question = struct.pack(ASKED, *(QUESTION[field] for field in FIELDS))
            answer = dict(zip(FIELDS, struct.unpack(ASKED, fcntl.fcntl(file, fcntl.F_GETLK, question)), strict=True))
            if answer["type"] != fcntl.F_UNLCK:
                return file.read(LONGEST).decode(errors="replace").strip() or "another process"
    except OSError:
        return ""
    return ""


def without_waiting(path: str, flags: int) -> int:
    """Open a file, and never wait for the other end of a pipe that stands in its place."""
    return os.open(path, flags | os.O_NONBLOCK)


def taken(path: Path, holder: str) -> Stopped:
    """The error for the second writer."""
    return Stopped(
        "the run is being written", where=str(path), got=holder, need="one writer", do="wait for it, or stop it"
    )
