"""What pages know of runs: read when it has changed, kept while it has not, shared by all pages."""

import threading
from collections import OrderedDict
from pathlib import Path

from fedclade.core import Damaged
from fedclade.dashboard.clients import RunClients, TableMarks, marks_of, read_clients
from fedclade.dashboard.listing import Listing, Overview
from fedclade.dashboard.run_tail import RunTail
from fedclade.store.files import EVENTS_FILE

MAX_TAILS = 64  # runs of which the events are kept
MAX_CLIENT_TABLES = 8  # runs of which the clients are kept


class RunCache:
    """The list of runs, their events and their clients."""

    def __init__(self, folder: Path) -> None:
        self.listing = Listing(folder)
        self._lock = threading.Lock()
        self._tails: OrderedDict[Path, RunTail] = OrderedDict()
        self._clients: OrderedDict[Path, tuple[TableMarks, RunClients | None, str]] = OrderedDict()

    def run_with_tail(self, key: str) -> tuple[Overview, RunTail]:
        """A run and its events; KeyError if there is none."""
        run = self.listing[key]  # before its log: of a run that has ended the log is whole
        with self._lock:
            tail = self._tails.pop(run.path, RunTail()).read_on(run.path / EVENTS_FILE)
            self._tails[run.path] = tail
            while len(self._tails) > MAX_TAILS:
                self._tails.popitem(last=False)
        return run, tail

    def clients(self, run: Overview) -> tuple[RunClients | None, str]:
        """A run's clients; or None, and why they cannot be read."""
        marks = marks_of(run.path)
        with self._lock:
            known = self._clients.get(run.path)
        if known is None or known[0] != marks:
            try:
                known = (marks, read_clients(run.path), "")
            except Damaged as error:
                known = (marks, None, error.what)
            with self._lock:
                self._clients[run.path] = known
                self._clients.move_to_end(run.path)
                while len(self._clients) > MAX_CLIENT_TABLES:
                    self._clients.popitem(last=False)
        return known[1], known[2]
