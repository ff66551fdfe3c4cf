"""The runs below a folder, and how far each one is. What has not changed since is not read again."""

import hashlib
import os
import secrets
import threading
import time
import tomllib
from collections import OrderedDict
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedclade.dashboard.reading import Mark, as_object, content, count, last_objects, mark_of, number, word
from fedclade.runs.lock import holder_of

DEEP = 2  # levels below the folder
FRESH = 0.3  # seconds for which a scan serves everybody who asks
KEPT = 32  # lists that differed, for pages that were made from them
FILES = ("experiment.toml", "environment.json", "events.jsonl", "result.json")
Marks = tuple[Mark | None, ...]

FINISHED, RUNNING, STOPPED, DAMAGED = "finished", "running", "stopped", "damaged"


@dataclass(frozen=True)
class Overview:
    """A run in the list."""

    key: str
    """Its name in addresses: letters and digits, made from its place, so that no address is ever a path."""
    name: str
    path: Path
    state: str
    method: str
    seed: int
    round: int
    rounds: int
    accuracy: float | None
    groups: int | None
    changed: float
    """Seconds since 1970."""
    trouble: str = ""
    """Why it is damaged."""

    @property
    def may_change(self) -> bool:
        """Whether somebody writes it, or may go on writing it."""
        return self.state in (RUNNING, STOPPED)

    @property
    def share(self) -> int:
        """How much of it is done, in percent."""
        return min(100, 100 * self.round // self.rounds) if self.rounds else 0


class Listing:
    """All runs in a folder and two levels below; links are not followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[Marks, Overview]] = {}
        self._scanned = -FRESH
        self._version = ""
        self._lists: OrderedDict[str, Mapping[str, Overview]] = OrderedDict()

    def runs(self) -> Mapping[str, Overview]:
        """Every run by its key: those that go on first, then the newest."""
        return self.versioned()[1]

    def versioned(self) -> tuple[str, Mapping[str, Overview]]:
        """The same, and the name of this list: another one has another."""
        with self._lock:
            if time.monotonic() - self._scanned > FRESH:
                found = self._scan()
                if not self._version or list(found.items()) != list(self._lists[self._version].items()):
                    self._version = secrets.token_hex(8)
                    self._lists[self._version] = found
                    while len(self._lists) > KEPT:
                        self._lists.popitem(last=False)
                self._scanned = time.monotonic()
            return self._version, self._lists[self._version]

    def at(self, version: str) -> Mapping[str, Overview] | None:
        """The list of this name; None if it is too long ago."""
        with self._lock:
            return self._lists.get(version)

    def __getitem__(self, key: str) -> Overview:
        """One run; KeyError if there is none of this key (any more)."""
        path = self.runs()[key].path
        with self._lock:
            return self._overview(path)

    def _scan(self) -> Mapping[str, Overview]:
        paths = list(folders_of_runs(self.folder, DEEP, self._known))
        for path in paths:
            self._overview(path)
        here = set(paths)
        self._known = {path: each for path, each in self._known.items() if path in here and any(each[0])}
        found = [run for _, run in self._known.values()]
        found.sort(key=lambda run: (run.state != RUNNING, -run.changed, run.name))
        return {run.key: run for run in found}

    def _overview(self, path: Path) -> Overview:
        marks = tuple(mark_of(f"{path}/{name}") for name in FILES)
        known = self._known.get(path)
        if known is not None and known[0] == marks and known[1].state in (FINISHED, DAMAGED):
            return known[1]
        if known is not None and known[0] == marks and (known[1].state == RUNNING) == bool(holder_of(path)):
            return known[1]
        made = overview(path, self.folder, marks)
        self._known[path] = (marks, made)
        return made


def folders_of_runs(folder: Path, deep: int, known: Container[Path] = ()) -> Iterator[Path]:
    """The folders below (or this one) that are those of runs, damaged ones too; into known ones nobody looks again."""
    if folder in known:
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            here = list(entries)
    except OSError:
        return
    if {entry.name for entry in here} & {"environment.json", "events.jsonl", "result.json"}:
        yield folder
    elif deep:
        for entry in here:
            if entry.is_dir(follow_symlinks=False):
                yield from folders_of_runs(Path(entry.path), deep - 1, known)


def overview(path: Path, root: Path, marks: Marks) -> Overview:
    """How far a run is. One that cannot be read is damaged, and hides no other."""
    place = path.relative_to(root).as_posix() if path != root else path.name
    changed = max((mark.changed for mark in marks if mark is not None), default=0) / 1e9
    asked = settings(content(path / "experiment.toml"))
    result = as_object(content(path / "result.json"))
    last = {} if result else last_objects(path / "events.jsonl", frozenset({"round", "evaluation"}))
    trouble = ""
    if marks[0] is None or marks[1] is None:
        trouble = "experiment.toml is missing" if marks[0] is None else "environment.json is missing"
    elif not asked:
        trouble = "experiment.toml cannot be read"
    elif marks[3] is not None and not result:
        trouble = "result.json cannot be read"
    elif marks[3] is not None and marks[2] is None:
        trouble = "events.jsonl is missing"
    told = result or last.get("evaluation", {})
    groups = number(told.get("group_count"))
    return Overview(
        key=key_of(os.fsencode(place)),
        name=word(place, 200),
        path=path,
        state=DAMAGED if trouble else FINISHED if result else RUNNING if holder_of(path) else STOPPED,
        method=word(section(asked, "method").get("name", ""), 60),
        seed=count(section(asked, "run").get("seed")),
        round=count(result.get("rounds") if result else last.get("round", {}).get("round")),
        rounds=count(section(asked, "run").get("rounds")),
        accuracy=number(told.get("accuracy")),
        groups=None if groups is None else int(groups),
        changed=changed,
        trouble=trouble,
    )


def key_of(name: bytes) -> str:
    """A name that is safe in any address, the same whenever it is asked for."""
    return hashlib.sha256(name).hexdigest()[:20]


def settings(toml: bytes) -> Mapping[str, object]:
    """An experiment; empty if it cannot be read."""
    try:
        return tomllib.loads(toml.decode())
    except (ValueError, RecursionError):
        return {}


def section(asked: Mapping[str, object], name: str) -> Mapping[str, object]:
    """A table of an experiment; empty if it has none."""
    found = asked.get(name)
    return found if isinstance(found, Mapping) else {}
