"""Reading files that somebody else may be writing, or may have put there to harm: never a link, never a pipe."""

import json
import math
import os
import stat
from pathlib import Path
from typing import NamedTuple

BLOCK = 64 * 1024  # bytes that are read at first from the end of a log
FARTHEST = 16 << 20  # bytes that are read at most
LARGEST = 1 << 30  # bytes of one file


class Mark(NamedTuple):
    """What a file was when it was looked at: another mark, another content."""

    inode: int
    size: int
    changed: int
    """Nanoseconds."""


def mark_of(path: Path | str) -> Mark | None:
    """The mark of a plain file; None if there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return Mark(found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def content(path: Path, start: int = 0, most: int = LARGEST) -> bytes:
    """A plain file from a place on; empty if there is no such file (any more)."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        with open(handle, "rb", closefd=False) as file:
            file.seek(start)
            return file.read(most)
    except OSError:
        return b""
    finally:
        os.close(handle)


def last_objects(path: Path, kinds: frozenset[str]) -> dict[str, dict[str, object]]:
    """The last event of each of these kinds near the log's end, reading no more of it than it takes.

    A line that is not whole, or holds no event, is passed over.
    """
    mark = mark_of(path)
    if mark is None:
        return {}
    length = min(BLOCK, mark.size)
    while True:
        read = content(path, mark.size - length, length)
        lines = read.split(b"\n")
        found: dict[str, dict[str, object]] = {}
        for line in reversed(lines[(1 if length < mark.size else 0) : -1]):  # the first may be a part of one
            event = as_object(line)
            kind = event.get("event")
            if isinstance(kind, str) and kind in kinds:
                found.setdefault(kind, event)
            if len(found) == len(kinds):
                return found
        if length >= min(mark.size, FARTHEST):
            return found
        length = min(length * 8, mark.size, FARTHEST)


def as_object(text: bytes) -> dict[str, object]:
    """A JSON object; empty if it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """A finite number; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(value: object) -> int:
    """A whole number from 0 on; 0 if it is none."""
    found = number(value)
    return int(found) if found is not None and found > 0 else 0


def listed(value: object) -> list[object]:
    """The value, if it is a list."""
    return value if isinstance(value, list) else []


def word(value: object, most: int = 120) -> str:
    """Text that can be sent and shown, whatever it is: whole characters only, and not longer than a line or two."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
