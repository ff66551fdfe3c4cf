"""What a page hears while it is open: server-sent events, made from what has changed on disk since."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

import anyio
from starlette.concurrency import run_in_threadpool

from fedclade.dashboard.listing import RUNNING, Overview
from fedclade.dashboard.reading import word
from fedclade.dashboard.story import Story
from fedclade.dashboard.watching import Desk

ON_A_PAGE = 1000  # runs
TICK = 0.5  # seconds between two looks
Sent = dict[str, str]
Draw = Callable[..., str]
"""A template by its name, filled in."""


async def ended(leaving: anyio.Event, seconds: float = TICK) -> bool:
    """Wait so long, or until the dashboard is ended: whether it was."""
    with anyio.move_on_after(seconds):
        await leaving.wait()
    return leaving.is_set()


@dataclass(frozen=True)
class Place:
    """How far a page has heard a story."""

    inode: int = 0
    points: int = 0
    happenings: int = 0

    def __str__(self) -> str:
        return f"{self.inode}-{self.points}-{self.happenings}"

    @classmethod
    def of(cls, story: Story) -> "Place":
        """The end of it."""
        return cls(story.inode, len(story.points), len(story.happenings))

    @classmethod
    def parsed(cls, text: str) -> "Place":
        """From what a page has sent; the beginning, if it is nothing of ours."""
        parts = text.split("-")
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 21 for part in parts):
            return cls()
        return cls(*(int(part) for part in parts))


async def run_stream(desk: Desk, draw: Draw, key: str, heard: Place, leaving: anyio.Event) -> AsyncIterator[Sent]:
    """A run as it goes on: figures, groups, what happened, points of the curves; `end` when it is finished."""
    seen: Overview | None = None
    while not leaving.is_set():
        try:
            run, story = await run_in_threadpool(desk.told, key)
        except KeyError:  # it was removed
            yield {"event": "end", "data": "gone"}
            return
        place = Place.of(story)
        if place.inode != heard.inode or place.points < heard.points or place.happenings < heard.happenings:
            yield {"event": "restart", "data": "another log", "id": str(place)}
            heard = place
        if run != seen or place != heard:
            for event in await run_in_threadpool(news, desk, draw, run, story, heard):
                yield event
            heard, seen = place, run
            if not run.may_change:
                yield {"event": "end", "data": run.state}
                return
        await ended(leaving)


def news(desk: Desk, draw: Draw, run: Overview, story: Story, heard: Place) -> list[Sent]:
    """All that a page has not heard yet. The id stands on the last event, so that nothing is lost in between."""
    sent = [{"event": "status", "data": draw("_status.html", run=run, story=story)}]
    happened = story.happenings[heard.happenings :]
    if happened:
        sent.append({"event": "happenings", "data": draw("_happenings.html", happenings=happened[::-1])})
    points = story.points[heard.points :]
    if points or not run.may_change:
        crowd, trouble = desk.crowd(run)
        sent.append({"event": "groups", "data": draw("_groups.html", run=run, crowd=crowd, trouble=trouble)})
        sent.append({"event": "clients", "data": "changed"})
    sent.append(
        {"event": "points", "data": json.dumps([as_list(point) for point in points]), "id": str(Place.of(story))}
    )
    return sent


def as_list(point: object) -> list[object]:
    """A point as the page's script reads it: its fields in their order."""
    return list(vars(point).values())


@dataclass(frozen=True)
class Head:
    """What stands above the list."""

    total: int
    live: int
    folder: str

    @classmethod
    def of(cls, desk: Desk, runs: Mapping[str, Overview]) -> "Head":
        """Of all these runs."""
        return cls(len(runs), sum(run.state == RUNNING for run in runs.values()), word(str(desk.folder), 300))


def on_page(runs: Mapping[str, Overview], page: int) -> dict[str, Overview]:
    """The runs of one page of the list."""
    return dict(islice(runs.items(), (page - 1) * ON_A_PAGE, page * ON_A_PAGE))


async def list_stream(desk: Desk, draw: Draw, page: int, heard: str, leaving: anyio.Event) -> AsyncIterator[Sent]:
    """The rows of this page that have changed since the list which was `heard`, new ones, and what stands above."""
    seen = desk.at(heard)
    while not await ended(leaving, 2 * TICK):
        version, runs = await run_in_threadpool(desk.versioned)
        if seen is None:
            yield {"event": "restart", "data": "another list", "id": version}
        elif version != heard:
            said = list_news(desk, draw, page, seen, runs)
            for data in said[:-1]:
                yield {"event": "rows", "data": data}
            for data in said[-1:]:  # the name of the list stands on the last: nothing is lost in between
                yield {"event": "rows", "data": data, "id": version}
        heard, seen = version, runs


def list_news(
    desk: Desk, draw: Draw, page: int, seen: Mapping[str, Overview], there: Mapping[str, Overview]
) -> list[str]:
    """What a page of the list has to change."""
    head = Head.of(desk, there)
    said = [draw("_head.html", head=head)] if head != Head.of(desk, seen) else []
    return said + row_news(draw, on_page(seen, page), on_page(there, page))


def row_news(draw: Draw, seen: Mapping[str, Overview], there: Mapping[str, Overview]) -> list[str]:
    """What a page has to change in its rows. Each is of its own: rows and bodies of a table are not read together."""
    changed = [run for key, run in there.items() if key in seen and seen[key] != run]
    gone = [key for key in seen if key not in there]
    above = list(takewhile(lambda key: key not in seen, there))
    below = [key for key in there if key not in seen and key not in above]
    said = [draw("_rows.html", changed=changed, gone=gone)] if changed or gone else []
    for where, keys in (("afterbegin", above), ("beforeend", below)):
        if keys:
            said.append(draw("_added.html", where=where, added=[there[key] for key in keys]))
    return said


async def changes(desk: Desk, keys: Sequence[str], heard: str, leaving: anyio.Event) -> AsyncIterator[Sent]:
    """That one of these runs has changed since the list which was `heard`; `end` when all are finished."""
    seen = some(desk.at(heard) or {}, keys)
    while not await ended(leaving, 2 * TICK):
        version, runs = await run_in_threadpool(desk.versioned)
        now = some(runs, keys)
        if now != seen:
            yield {"event": "changed", "data": "changed", "id": version}
        seen = now
        if not any(run.may_change for run in now):
            yield {"event": "end", "data": "all have ended"}
            return


def some(runs: Mapping[str, Overview], keys: Sequence[str]) -> list[Overview]:
    """These runs, without those that are gone."""
    return [runs[key] for key in keys if key in runs]
