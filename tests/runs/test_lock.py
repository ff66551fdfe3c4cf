"""Who looks whether a run is being written keeps nobody out."""

import fcntl
import os
from pathlib import Path

import pytest

from fedclade.runs import lock


def test_looking_takes_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / lock.NAME).write_text("process 1 on nowhere\n")

    def forbidden(*_: object) -> None:
        raise AssertionError("it was only to be asked")

    monkeypatch.setattr(fcntl, "lockf", forbidden)
    monkeypatch.setattr(fcntl, "flock", forbidden)
    assert lock.holder_of(tmp_path) == ""


def test_the_holder_is_known_to_others(tmp_path: Path) -> None:
    """Asked from a process that was forked: locks are a process's own."""
    held = lock.hold(tmp_path)
    asked, told = os.pipe()
    child = os.fork()
    if child == 0:
        lock.held_here.clear()
        os.write(told, lock.holder_of(tmp_path).encode())
        os._exit(0)
    os.close(told)
    with open(asked, "rb") as answer:
        assert answer.read().startswith(f"process {os.getpid()} on ".encode())
    os.waitpid(child, 0)
    lock.let_go(tmp_path, held)
    assert lock.holder_of(tmp_path) == ""


def test_a_pipe_in_its_place_is_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / lock.NAME)
    assert lock.holder_of(tmp_path) == ""
