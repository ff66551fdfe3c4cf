"""Asking whether a run is being written keeps no writer out."""

import fcntl
import os
from pathlib import Path

import pytest

from fedclade.store import lock
from fedclade.store.files import LOCK_FILE


def test_looking_takes_no_lock_and_a_pipe_is_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / LOCK_FILE).write_text("process 1 on nowhere\n")
    for name in ("lockf", "flock"):
        monkeypatch.delattr(fcntl, name)
    assert lock.holder_of(tmp_path) == ""
    (tmp_path / LOCK_FILE).unlink()
    os.mkfifo(tmp_path / LOCK_FILE)
    assert lock.holder_of(tmp_path) == ""
