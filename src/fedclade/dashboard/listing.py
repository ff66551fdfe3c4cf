"""The runs below a folder, and the progress of each. A run that has not changed is not read again."""

import hashlib
import os
import secrets
import threading
import time
import tomllib
from collections import OrderedDict
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fedclade.core.task import MetricKind
from fedclade.dashboard.safe_reading import Mark, content, last_events, mark_of, short_text
from fedclade.store.events import EvaluationEvent, from_json
from fedclade.store.files import ENVIRONMENT_FILE, EVENTS_FILE, EXPERIMENT_FILE, RESULT_FILE
from fedclade.store.json_values import as_list, as_object, count
from fedclade.store.lock import holder_of

MAX_DEPTH = 2  # levels below the folder
SCAN_SECONDS = 0.3  # for which the result of a scan is used again
MAX_WARNINGS = 10
MAX_LISTS = 32  # versions of the list that are kept, for pages that were made from them
FILES = (EXPERIMENT_FILE, ENVIRONMENT_FILE, EVENTS_FILE, RESULT_FILE)
Marks = tuple[Mark | None, ...]

FINISHED, DIVERGED, RUNNING, STOPPED, DAMAGED = "finished", "diverged", "running", "stopped", "damaged"


@dataclass(frozen=True)
class Overview:
    """A run in the list."""

    key: str
    """Its name in addresses: a hash of its place, so that no address is ever a path."""
    name: str
    path: Path
    state: str
    method: str
    seed: int
    round: int
    rounds: int
    value: float | None
    """Of the main metric."""
    metric: MetricKind
    """Which that is."""
    groups: int | None
    modified_seconds: float
    """Seconds since 1970."""
    trouble: str = ""
    """Why it is damaged."""
    warnings: tuple[str, ...] = ()
    """Of its verdict."""

    @property
    def may_change(self) -> bool:
        """Whether a process writes it, or may continue it."""
        return self.state in (RUNNING, STOPPED)

    @property
    def percent_done(self) -> int:
        """Rounds that are done, in percent from 0 to 100."""
        return min(100, 100 * self.round // self.rounds) if self.rounds else 0


class Listing:
    """All runs in a folder and MAX_DEPTH levels below; links are not followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[Marks, Overview]] = {}
        self._scanned = -SCAN_SECONDS
        self._version = ""
        self._lists: OrderedDict[str, Mapping[str, Overview]] = OrderedDict()

    def runs(self) -> Mapping[str, Overview]:
        """Every run by its key: running ones first, then the newest."""
        return self.runs_with_version()[1]

    def runs_with_version(self) -> tuple[str, Mapping[str, Overview]]:
        """The same after the version of the list: it changes whenever the list does."""
        with self._lock:
            if time.monotonic() - self._scanned > SCAN_SECONDS:
                found = self._scan()
                if not self._version or list(found.items()) != list(self._lists[self._version].items()):
                    self._version = secrets.token_hex(8)
                    self._lists[self._version] = found
                    while len(self._lists) > MAX_LISTS:
                        self._lists.popitem(last=False)
                self._scanned = time.monotonic()
            return self._version, self._lists[self._version]

    def runs_at(self, version: str) -> Mapping[str, Overview] | None:
        """The list of this version; None if it is too old."""
        with self._lock:
            return self._lists.get(version)

    def __getitem__(self, key: str) -> Overview:
        """One run as it is now; KeyError if there is none of this key."""
        path = self.runs()[key].path
        with self._lock:
            return self._overview(path)

    def _scan(self) -> Mapping[str, Overview]:
        paths = list(run_folders(self.folder, MAX_DEPTH, self._known))
        for path in paths:
            self._overview(path)
        here = set(paths)
        self._known = {path: each for path, each in self._known.items() if path in here and any(each[0])}
        found = [run for _, run in self._known.values()]
        found.sort(key=lambda run: (run.state != RUNNING, -run.modified_seconds, run.name))
        return {run.key: run for run in found}

    def _overview(self, path: Path) -> Overview:
        marks = tuple(mark_of(f"{path}/{name}") for name in FILES)
        known = self._known.get(path)
        if known is not None and known[0] == marks:
            state = known[1].state
            if state in (FINISHED, DIVERGED, DAMAGED) or (state == RUNNING) == bool(holder_of(path)):
                return known[1]
        overview = read_overview(path, self.folder, marks)
        self._known[path] = (marks, overview)
        return overview


def run_folders(folder: Path, depth: int, known: Container[Path] = ()) -> Iterator[Path]:
    """The folders of runs below this one, or itself, damaged ones too; known ones are not looked into again."""
    if folder in known:
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            here = list(entries)
    except OSError:
        return
    if {entry.name for entry in here} & set(FILES[1:]):
        yield folder
    elif depth:
        for entry in here:
            if entry.is_dir(follow_symlinks=False):
                yield from run_folders(Path(entry.path), depth - 1, known)


def read_overview(path: Path, root: Path, marks: Marks) -> Overview:
    """The progress of a run. A run that cannot be read is damaged: no error, so that the others are shown."""
    place = path.relative_to(root).as_posix() if path != root else path.name
    changed = max((mark.modified_ns for mark in marks if mark is not None), default=0) / 1e9
    asked = parse_settings(content(path / EXPERIMENT_FILE))
    result = as_object(content(path / RESULT_FILE))
    played, evaluated = (None, None) if result else last_events(path / EVENTS_FILE)
    trouble = ""
    if marks[0] is None or marks[1] is None:
        trouble = "experiment.toml is missing" if marks[0] is None else "environment.json is missing"
    elif not asked:
        trouble = "experiment.toml cannot be read"
    elif marks[3] is not None and not result:
        trouble = "result.json cannot be read"
    elif marks[3] is not None and marks[2] is None:
        trouble = "events.jsonl is missing"
    warnings = as_list(result.get("warnings"))[:MAX_WARNINGS]
    last = evaluated or evaluation_of(result)
    return Overview(
        key=key_of(os.fsencode(place)),
        name=short_text(place, 200),
        path=path,
        state=DAMAGED if trouble else state_of(result) if result else RUNNING if holder_of(path) else STOPPED,
        method=short_text(section(asked, "method").get("name", ""), 60),
        seed=count(section(asked, "run").get("seed")),
        round=played.round if played is not None else count(result.get("rounds")),
        rounds=count(section(asked, "run").get("rounds")),
        value=last.value,
        metric=replace(last.metric_kind, label=short_text(last.metric_kind.label, 40)),
        groups=None if last.group_count is None else int(last.group_count),
        modified_seconds=changed,
        trouble=trouble,
        warnings=tuple(short_text(each.get("text", ""), 400) for each in warnings if isinstance(each, dict)),
    )


def state_of(result: Mapping[str, object]) -> str:
    """The state of a run with a verdict."""
    return DIVERGED if result.get("diverged") is True else FINISHED


def evaluation_of(result: Mapping[str, object]) -> EvaluationEvent:
    """The evaluation of a verdict, whatever that is: it has the same keys."""
    found = from_json({**result, "event": EvaluationEvent.kind})
    assert isinstance(found, EvaluationEvent)
    return found


def key_of(name: bytes) -> str:
    """A name that is safe in any address, always the same."""
    return hashlib.sha256(name).hexdigest()[:20]


def parse_settings(toml: bytes) -> Mapping[str, object]:
    """An experiment; empty if it cannot be read."""
    try:
        return tomllib.loads(toml.decode())
    except (ValueError, RecursionError):
        return {}


def section(tables: Mapping[str, object], name: str) -> Mapping[str, object]:
    """A table of an experiment; empty if it has none."""
    found = tables.get(name)
    return found if isinstance(found, Mapping) else {}
