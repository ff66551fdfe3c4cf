"""What a page hears while it is open: server-sent events, made from what has changed on disk since."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import anyio
from starlette.concurrency import run_in_threadpool

from fedclade.dashboard.listing import Overview
from fedclade.dashboard.story import Story
from fedclade.dashboard.watching import Desk

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


async def list_stream(desk: Desk, draw: Draw, leaving: anyio.Event) -> AsyncIterator[Sent]:
    """The rows of the list that have changed, and new ones."""
    seen = await run_in_threadpool(desk.runs)
    while not await ended(leaving, 2 * TICK):
        runs = await run_in_threadpool(desk.runs)
        if runs != seen:
            changed = [run for key, run in runs.items() if key in seen and seen[key] != run]
            added = [run for key, run in runs.items() if key not in seen]
            gone = [key for key in seen if key not in runs]
            seen = runs
            yield {"event": "rows", "data": draw("_rows.html", changed=changed, added=added, gone=gone)}


async def changes(desk: Desk, keys: Sequence[str], leaving: anyio.Event) -> AsyncIterator[Sent]:
    """That one of these runs has changed; `end` when all are finished."""
    seen: list[Overview] | None = None
    while not leaving.is_set():
        now = await run_in_threadpool(desk.some, keys)
        if seen is not None and now != seen:
            yield {"event": "changed", "data": "changed"}
        seen = now
        if not any(run.may_change for run in now):
            yield {"event": "end", "data": "all have ended"}
            return
        await ended(leaving, 2 * TICK)
