"""A run's log as a page shows it: the points of its curves, and its history in sentences. Only new lines are read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from fedclade.dashboard.safe_reading import content, mark_of, short_text
from fedclade.store import events
from fedclade.store.events import EvaluationEvent, Event, FactsEvent, StartEvent, TrafficEvent
from fedclade.store.json_values import as_list, count

SHOWN_GROUPS = 12  # that have a curve each; with more, none has
MAX_NAMED = 5  # clients in a line of the history


@dataclass(frozen=True)
class Point:
    """One evaluation."""

    round: int
    accuracy: float | None
    worst_tenth: float | None
    groups: int
    ari: float | None
    megabytes: float
    """Up and down since the start, evaluation left out."""
    by_group: tuple[float | None, ...]
    """Mean accuracy of each group, where they are few."""


@dataclass(frozen=True)
class EventLine:
    """A line of the history of a run."""

    round: int
    time: str
    text: str


@dataclass(frozen=True)
class RunTail:
    """A run's events so far."""

    inode: int = 0
    """Of the log that was read: a run that is resumed begins a new one."""
    offset: int = 0
    """Bytes of the log that were read."""
    points: tuple[Point, ...] = ()
    event_lines: tuple[EventLine, ...] = ()
    clients: int = 0
    round: int = 0
    megabytes_sent: float = 0.0
    first: tuple[int, float] | None = None
    """Round and second of the first event since the run was started or resumed."""
    last: tuple[int, float] | None = None
    unread: int = 0
    """Lines that hold no event: the log is damaged."""

    def read_on(self, log: Path) -> "RunTail":
        """The tail with the events that were added to the log since; a new one if the log is another."""
        mark = mark_of(log)
        if mark is None:
            return self if self.offset == 0 else RunTail()
        tail = self if mark.inode == self.inode and mark.size >= self.offset else RunTail(inode=mark.inode)
        if mark.size == tail.offset:
            return tail
        added, size = events.parse_events(content(log, tail.offset))
        points, event_lines = list(tail.points), list(tail.event_lines)
        for event in added:
            tail = tail.with_event(event)
            if event is None:
                continue
            groups = points[-1].groups if points else 0
            for text in event_sentences(event, groups):
                event_lines.append(EventLine(event.round, clock_time(event.time), short_text(text, 400)))
            if isinstance(event, EvaluationEvent):
                points.append(tail.point(event))
        return replace(tail, offset=tail.offset + size, points=tuple(points), event_lines=tuple(event_lines))

    def with_event(self, event: Event | None) -> "RunTail":
        """The sums after one more event."""
        if event is None or (isinstance(event, events.UnknownEvent) and not event.name):
            return replace(self, unread=self.unread + 1)
        now = (event.round, event.seconds)
        begins = isinstance(event, StartEvent | events.ResumeEvent) or self.first is None
        tail = replace(self, first=now if begins else self.first, last=now)
        if isinstance(event, StartEvent):
            tail = replace(tail, clients=event.clients)
        elif isinstance(event, events.NewcomersEvent):
            tail = replace(tail, clients=tail.clients + len(event.clients))
        if isinstance(event, TrafficEvent):
            moved = (event.bytes_up or 0) + (event.bytes_down or 0)
            tail = replace(tail, round=event.round, megabytes_sent=tail.megabytes_sent + moved / 1e6)
        return tail

    def point(self, event: EvaluationEvent) -> Point:
        """An evaluation as a point of the curves."""
        return Point(
            round=event.round,
            accuracy=event.accuracy,
            worst_tenth=event.worst_tenth,
            groups=count(event.group_count),
            ari=event.ari,
            megabytes=self.megabytes_sent,
            by_group=event.accuracy_by_group if len(event.accuracy_by_group) <= SHOWN_GROUPS else (),
        )

    @property
    def seconds_per_round(self) -> float | None:
        """How long a round took since the run was started or resumed."""
        if self.first is None or self.last is None or self.last[0] <= self.first[0]:
            return None
        return (self.last[1] - self.first[1]) / (self.last[0] - self.first[0])


def event_sentences(event: Event, groups: int) -> Iterator[str]:
    """The sentences of an event; `groups` is how many there were before it."""
    match event:
        case StartEvent():
            yield f"started with {event.clients} clients"
        case events.ResumeEvent():
            yield "resumed, repaired" if event.repaired else "resumed"
        case events.DivergedEvent():
            yield f"training diverged: {short_text(event.reason)}"
        case events.EarlyStopEvent():
            yield f"ended: {short_text(event.reason)}; the models are those of round {event.kept}"
        case events.NewcomersEvent():
            yield f"joined: {first_names(event.clients)}"
        case events.LeftEvent() | events.ReturnedEvent():
            yield f"{event.kind}: {first_names(event.clients)}"
        case EvaluationEvent() if (found := count(event.group_count)) != groups:
            yield f"{found} {'group' if found == 1 else 'groups'}" + (f" instead of {groups}" if groups else "")
    if isinstance(event, FactsEvent):
        yield from fact_sentences(event.facts)
    if isinstance(event, TrafficEvent) and event.refused:
        first, replies = event.refused[0], "reply" if len(event.refused) == 1 else "replies"
        client, reason = short_text(first.client, 60), short_text(first.reason)
        yield f"{len(event.refused)} {replies} refused, the first of {client}: {reason}"
    if isinstance(event, TrafficEvent) and event.silent:
        yield f"no answer from {first_names([each.client for each in event.silent])}"


def fact_sentences(facts: events.EventFacts) -> Iterator[str]:
    """The sentences of the facts about groups, of any method."""
    discovery = facts.get("discovery")
    if isinstance(discovery, Mapping):
        known = ("count", "confidence", "silhouette", "sizes", "distance")
        shown = [f"{name} {short_text(discovery[name], 60)}" for name in known if name in discovery]
        yield f"looked for groups: {', '.join(shown)}"
    if splits := as_list(facts.get("splits")):
        yield f"{len(splits)} {'group was' if len(splits) == 1 else 'groups were'} split"
    if undone := as_list(facts.get("undone")):
        yield f"{len(undone)} {'split was' if len(undone) == 1 else 'splits were'} undone"
    if moved := as_list(facts.get("moved")):
        yield f"moved to another group: {first_names(moved)}"
    if facts.get("clustered_again") is True:
        yield "groups were looked for again"


def first_names(clients: Sequence[object]) -> str:
    """The first names of a list, and how many more there are."""
    named = ", ".join(short_text(client, 60) for client in clients[:MAX_NAMED])
    return named + (f" and {len(clients) - MAX_NAMED} more" if len(clients) > MAX_NAMED else "")


def clock_time(time: str) -> str:
    """A time of the log as hour, minute and second, UTC; empty if it cannot be read."""
    try:
        return f"{datetime.fromisoformat(time):%H:%M:%S}"
    except ValueError:
        return ""
