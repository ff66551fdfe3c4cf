"""One writer for a run folder, known by name, and gone when its process is."""

import fcntl
import os
import socket
import time
from pathlib import Path
from typing import IO

from fedclade.nouns import InputError, Stopped

NAME = "lock"
PATIENCE = 10  # tries

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
        except OSError:  # a writer; or somebody who looked whether there is one, for a moment
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
    """Who holds the lock of this folder; empty if nobody does."""
    path = path.resolve()
    if path in held_here:
        return f"process {os.getpid()} on {socket.gethostname()}"
    try:
        with open(path / NAME, "r+", encoding="utf-8") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return file.read().strip() or "another process"
    except OSError:
        return ""
    return ""


def taken(path: Path, holder: str) -> Stopped:
    """The error for the second writer."""
    return Stopped(
        "the run is being written", where=str(path), got=holder, need="one writer", do="wait for it, or stop it"
    )
