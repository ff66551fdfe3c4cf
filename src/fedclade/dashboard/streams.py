"""What is sent to a page while it is open: server-sent events, made from what has changed on disk since."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

import anyio
from starlette.concurrency import run_in_threadpool

from fedclade.dashboard.clients import table_bytes
from fedclade.dashboard.listing import RUNNING, Listing, Overview
from fedclade.dashboard.run_cache import RunCache
from fedclade.dashboard.run_tail import RunTail
from fedclade.dashboard.safe_reading import short_text

RUNS_PER_PAGE = 1000
TICK = 0.5  # seconds between two looks at the disk
ServerEvent = dict[str, str]
Render = Callable[..., str]
"""Fills in the template of this name."""


async def wait_for_shutdown(shutdown: anyio.Event, seconds: float = TICK) -> bool:
    """Wait so long, or until the dashboard is ended; returns whether it was."""
    with anyio.move_on_after(seconds):
        await shutdown.wait()
    return shutdown.is_set()


@dataclass(frozen=True)
class TailPosition:
    """How much of a run's events and of its clients' table a page has."""

    inode: int = 0
    points: int = 0
    event_lines: int = 0
    client_bytes: int = 0
    """The lines of the clients can reach the disk after the evaluation that they belong to."""

    def __str__(self) -> str:
        return f"{self.inode}-{self.points}-{self.event_lines}-{self.client_bytes}"

    @classmethod
    def end_of(cls, run: Overview, tail: RunTail) -> "TailPosition":
        """The position behind all events. Take it before the clients are read."""
        return cls(tail.inode, len(tail.points), len(tail.event_lines), table_bytes(run.path))

    @classmethod
    def parse(cls, text: str) -> "TailPosition":
        """The position that a page has sent; the beginning, if it is malformed."""
        parts = text.split("-")
        if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) < 21 for part in parts):
            return cls()
        return cls(*(int(part) for part in parts))


async def run_stream(
    run_cache: RunCache, render: Render, key: str, heard: TailPosition, shutdown: anyio.Event
) -> AsyncIterator[ServerEvent]:
    """A run as it goes on: metrics, groups, what happened, points of the curves; `end` when it is finished."""
    seen: Overview | None = None
    while not shutdown.is_set():
        try:
            run, tail = await run_in_threadpool(run_cache.run_with_tail, key)
        except KeyError:  # it was removed
            yield {"event": "end", "data": "gone"}
            return
        place = TailPosition.end_of(run, tail)
        if place.inode != heard.inode or place.points < heard.points or place.event_lines < heard.event_lines:
            yield {"event": "restart", "data": "another log", "id": str(place)}
            heard = place
        if run != seen or place != heard:
            for event in await run_in_threadpool(news, run_cache, render, run, tail, heard, place):
                yield event
            heard, seen = place, run
            if not run.may_change:
                yield {"event": "end", "data": run.state}
                return
        await wait_for_shutdown(shutdown)


def news(
    run_cache: RunCache, render: Render, run: Overview, tail: RunTail, heard: TailPosition, place: TailPosition
) -> list[ServerEvent]:
    """All that a page does not have yet. Only the last event has an id, so that nothing is lost in between."""
    sent = [{"event": "status", "data": render("_status.html", run=run, tail=tail)}]
    new_lines = tail.event_lines[heard.event_lines :]
    if new_lines:
        sent.append({"event": "history", "data": render("_history.html", event_lines=new_lines[::-1])})
    points = tail.points[heard.points :]
    if points or place.client_bytes != heard.client_bytes or not run.may_change:
        clients, trouble = run_cache.clients(run)
        sent.append({"event": "groups", "data": render("_groups.html", run=run, clients=clients, trouble=trouble)})
        sent.append({"event": "clients", "data": "changed"})
    data = json.dumps([field_values(point) for point in points])
    return [*sent, {"event": "points", "data": data, "id": str(place)}]


def field_values(point: object) -> list[object]:
    """A point as the page's script needs it: its fields in their order."""
    return list(vars(point).values())


@dataclass(frozen=True)
class ListHead:
    """What stands above the list."""

    total: int
    live: int
    folder: str

    @classmethod
    def of(cls, listing: Listing, runs: Mapping[str, Overview]) -> "ListHead":
        """The head of a list of these runs."""
        live = sum(run.state == RUNNING for run in runs.values())
        return cls(len(runs), live, short_text(str(listing.folder), 300))


def runs_on_page(runs: Mapping[str, Overview], page: int) -> dict[str, Overview]:
    """The runs of one page of the list."""
    return dict(islice(runs.items(), (page - 1) * RUNS_PER_PAGE, page * RUNS_PER_PAGE))


async def list_stream(
    listing: Listing, render: Render, page: int, heard: str, shutdown: anyio.Event
) -> AsyncIterator[ServerEvent]:
    """Changes of this page of the list since the version `heard`: rows, new rows, and what stands above."""
    seen = listing.runs_at(heard)
    while not await wait_for_shutdown(shutdown, 2 * TICK):
        version, runs = await run_in_threadpool(listing.runs_with_version)
        if seen is None:
            yield {"event": "restart", "data": "another list", "id": version}
        elif version != heard:
            messages = list_news(listing, render, page, seen, runs)
            for data in messages[:-1]:
                yield {"event": "rows", "data": data}
            for data in messages[-1:]:  # only the last has the version, so that nothing is lost in between
                yield {"event": "rows", "data": data, "id": version}
        heard, seen = version, runs


def list_news(
    listing: Listing, render: Render, page: int, seen: Mapping[str, Overview], there: Mapping[str, Overview]
) -> list[str]:
    """What a page of the list has to change."""
    head = ListHead.of(listing, there)
    messages = [render("_head.html", head=head)] if head != ListHead.of(listing, seen) else []
    return messages + row_news(render, runs_on_page(seen, page), runs_on_page(there, page))


def row_news(render: Render, seen: Mapping[str, Overview], there: Mapping[str, Overview]) -> list[str]:
    """What a page has to change in its rows, one message each: htmx does not take rows and table bodies together."""
    changed = [run for key, run in there.items() if key in seen and seen[key] != run]
    gone = [key for key in seen if key not in there]
    above = list(takewhile(lambda key: key not in seen, there))
    below = [key for key in there if key not in seen and key not in above]
    messages = [render("_rows.html", changed=changed, gone=gone)] if changed or gone else []
    for where, keys in (("afterbegin", above), ("beforeend", below)):
        if keys:
            messages.append(render("_added.html", where=where, added=[there[key] for key in keys]))
    return messages


async def compare_stream(
    listing: Listing, keys: Sequence[str], heard: str, shutdown: anyio.Event
) -> AsyncIterator[ServerEvent]:
    """`changed` when one of these runs is not as in the version `heard` of the list; `end` when all are finished."""
    seen = existing_runs(listing.runs_at(heard) or {}, keys)
    while not await wait_for_shutdown(shutdown, 2 * TICK):
        version, runs = await run_in_threadpool(listing.runs_with_version)
        now = existing_runs(runs, keys)
        if now != seen:
            yield {"event": "changed", "data": "changed", "id": version}
        seen = now
        if not any(run.may_change for run in now):
            yield {"event": "end", "data": "all have ended"}
            return


def existing_runs(runs: Mapping[str, Overview], keys: Sequence[str]) -> list[Overview]:
    """These runs, without those that are gone."""
    return [runs[key] for key in keys if key in runs]
