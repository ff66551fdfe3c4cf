"""What the page knows of runs: read when it has changed, kept while it has not, shared by all who look."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from fedclade.dashboard.crowd import Crowd, Marks, crowd_of, marks_of
from fedclade.dashboard.listing import Listing, Overview
from fedclade.dashboard.story import Story
from fedclade.nouns import Damaged

KEPT = 64  # stories
KEPT_CROWDS = 8


class Desk:
    """Everything that pages are made from."""

    def __init__(self, folder: Path) -> None:
        self._listing = Listing(folder)
        self._lock = threading.Lock()
        self._stories: OrderedDict[Path, Story] = OrderedDict()
        self._crowds: OrderedDict[Path, tuple[Marks, Crowd | None, str]] = OrderedDict()

    @property
    def folder(self) -> Path:
        """Where the runs are."""
        return self._listing.folder

    def runs(self) -> Mapping[str, Overview]:
        """Every run by its key."""
        return self._listing.runs()

    def versioned(self) -> tuple[str, Mapping[str, Overview]]:
        """The same, and the name of this list."""
        return self._listing.versioned()

    def at(self, version: str) -> Mapping[str, Overview] | None:
        """The list that a page was made from; None if it is too long ago."""
        return self._listing.at(version)

    def told(self, key: str) -> tuple[Overview, Story]:
        """A run and its story; KeyError if there is none."""
        run = self._listing[key]  # before its log: of a run that has ended the log is whole
        with self._lock:
            story = self._stories.pop(run.path, Story()).read_on(run.path / "events.jsonl")
            self._stories[run.path] = story
            while len(self._stories) > KEPT:
                self._stories.popitem(last=False)
        return run, story

    def crowd(self, run: Overview) -> tuple[Crowd | None, str]:
        """A run's clients; or None, and why they cannot be read."""
        marks = marks_of(run.path)
        with self._lock:
            known = self._crowds.get(run.path)
        if known is None or known[0] != marks:
            try:
                known = (marks, crowd_of(run.path), "")
            except Damaged as wrong:
                known = (marks, None, wrong.what)
            with self._lock:
                self._crowds[run.path] = known
                self._crowds.move_to_end(run.path)
                while len(self._crowds) > KEPT_CROWDS:
                    self._crowds.popitem(last=False)
        return known[1], known[2]
