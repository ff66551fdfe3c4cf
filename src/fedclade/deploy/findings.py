"""The findings of `deploy check`, one for each thing that it looked at."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "missing", "wrong"]


@dataclass(frozen=True)
class Finding:
    """One thing, how it is, and what to do about it."""

    level: Level
    where: str
    what: str
    do: str = ""


def ok(where: str, what: str) -> Finding:
    return Finding("ok", where, what)


def warning(where: str, what: str, do: str = "") -> Finding:
    return Finding("warning", where, what, do)


def missing(where: str, what: str, do: str) -> Finding:
    return Finding("missing", where, what, do)


def wrong(where: str, what: str, do: str) -> Finding:
    return Finding("wrong", where, what, do)
