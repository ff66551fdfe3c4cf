"""Reading files that another process may be writing, or may have put there to harm: never a link, never a pipe."""

import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from fedclade.store.events import EvaluationEvent, RoundEvent, parse_events

BLOCK = 64 * 1024  # bytes that are read at first from the end of a log
MAX_TAIL_BYTES = 16 << 20  # that are read at most from there
MAX_FILE_BYTES = 1 << 30


class Mark(NamedTuple):
    """The state of a file: with another mark it has another content."""

    inode: int
    size: int
    modified_ns: int
    """Nanoseconds."""


def mark_of(path: Path | str) -> Mark | None:
    """The mark of a plain file; None if there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return Mark(found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def content(path: Path, start: int = 0, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The content of a plain file from an offset on; empty if there is no such file (any more)."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        with open(handle, "rb", closefd=False) as file:
            file.seek(start)
            return file.read(max_bytes)
    except OSError:
        return b""
    finally:
        os.close(handle)


def last_events(log: Path) -> tuple[RoundEvent | None, EvaluationEvent | None]:
    """The last round and the last evaluation near the log's end, reading no more of it than it takes."""
    mark = mark_of(log)
    if mark is None:
        return None, None
    length = min(BLOCK, mark.size)
    while True:
        block = content(log, mark.size - length, length)
        whole = block if length == mark.size else block[block.find(b"\n") + 1 :]  # it may begin inside a line
        newest = parse_events(whole)[0][::-1]
        played = next((event for event in newest if isinstance(event, RoundEvent)), None)
        evaluated = next((event for event in newest if isinstance(event, EvaluationEvent)), None)
        if (played and evaluated) or length >= min(mark.size, MAX_TAIL_BYTES):
            return played, evaluated
        length = min(length * 8, mark.size, MAX_TAIL_BYTES)


def short_text(value: object, max_length: int = 120) -> str:
    """Text that can be sent and shown, whatever it is: whole characters only, and not longer than a line or two."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= max_length else text[: max_length - 1] + "\N{HORIZONTAL ELLIPSIS}"
