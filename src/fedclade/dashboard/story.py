"""What a run's events tell: the points of its curves, and what happened, in order. Read on from where one was."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from fedclade.dashboard.reading import as_object, content, count, listed, mark_of, number, word

SHOWN_GROUPS = 12  # that have a curve each; with more, none has
NAMED = 5  # clients in a line of what happened


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
class Happening:
    """A line of what happened."""

    round: int
    time: str
    text: str


@dataclass(frozen=True)
class Story:
    """A run's events so far."""

    inode: int = 0
    """Of the log that was read: a run that is resumed begins a new one."""
    offset: int = 0
    points: tuple[Point, ...] = ()
    happenings: tuple[Happening, ...] = ()
    clients: int = 0
    round: int = 0
    sent: float = 0.0
    """Megabytes."""
    groups: int = 0
    first: tuple[int, float] | None = None
    """Round and second of the first event since the run was started or resumed."""
    last: tuple[int, float] | None = None
    unread: int = 0
    """Lines that hold no event: the log is damaged."""

    def read_on(self, log: Path) -> "Story":
        """The story with what was added to the log since; a new one if the log is another."""
        mark = mark_of(log)
        if mark is None:
            return self if self.offset == 0 else Story()
        story = self if mark.inode == self.inode and mark.size >= self.offset else Story(inode=mark.inode)
        if mark.size == story.offset:
            return story
        added = content(log, story.offset)
        whole = added[: added.rfind(b"\n") + 1]  # the last line may be being written
        points, happenings = list(story.points), list(story.happenings)
        for line in whole.split(b"\n")[:-1]:
            event = as_object(line)
            story = story.after(event)
            happenings.extend(story.told(event, points[-1].groups if points else 0))
            if event.get("event") == "evaluation":
                points.append(story.point(event))
        return replace(story, offset=story.offset + len(whole), points=tuple(points), happenings=tuple(happenings))

    def after(self, event: Mapping[str, object]) -> "Story":
        """The sums after one more event."""
        kind = event.get("event")
        if not isinstance(kind, str):
            return replace(self, unread=self.unread + 1)
        now = (count(event.get("round")), seconds(event.get("time")))
        story = replace(self, first=now if kind in ("start", "resume") or self.first is None else self.first, last=now)
        if kind == "start":
            story = replace(story, clients=count(event.get("clients")))
        elif kind == "newcomers":
            story = replace(story, clients=story.clients + len(listed(event.get("clients"))))
        if kind in ("start", "round"):
            moved = (number(event.get("bytes_up")) or 0.0) + (number(event.get("bytes_down")) or 0.0)
            story = replace(story, round=now[0], sent=story.sent + moved / 1e6)
        return story

    def point(self, event: Mapping[str, object]) -> Point:
        """An evaluation as a point of the curves."""
        by_group = listed(event.get("accuracy_by_group"))
        return Point(
            round=count(event.get("round")),
            accuracy=number(event.get("accuracy")),
            worst_tenth=number(event.get("worst_tenth")),
            groups=count(event.get("group_count")),
            ari=number(event.get("ari")),
            megabytes=self.sent,
            by_group=tuple(number(each) for each in by_group) if len(by_group) <= SHOWN_GROUPS else (),
        )

    def told(self, event: Mapping[str, object], groups: int) -> Iterator[Happening]:
        """What happened in an event, in words."""
        for text in words(event, groups):
            yield Happening(count(event.get("round")), clock(event.get("time")), word(text, 400))

    @property
    def seconds_a_round(self) -> float | None:
        """How long a round took since the run was started or resumed."""
        if self.first is None or self.last is None or self.last[0] <= self.first[0]:
            return None
        return (self.last[1] - self.first[1]) / (self.last[0] - self.first[0])


def words(event: Mapping[str, object], groups: int) -> Iterator[str]:
    """The sentences of an event; `groups` is how many there were before it."""
    kind = event.get("event")
    clients = listed(event.get("clients"))
    if kind == "start":
        yield f"started with {count(event.get('clients'))} clients"
    elif kind == "resume":
        yield "resumed, repaired" if event.get("repaired") is True else "resumed"
    elif kind in ("newcomers", "left", "returned"):
        yield f"{'joined' if kind == 'newcomers' else kind}: {some(clients)}"
    elif kind == "evaluation" and (found := count(event.get("group_count"))) != groups:
        yield f"{found} {'group' if found == 1 else 'groups'}" + (f" instead of {groups}" if groups else "")
    facts = event.get("facts")
    if isinstance(facts, Mapping):
        yield from method_facts(facts)
    refused = [each for each in listed(event.get("refused")) if isinstance(each, Mapping)]
    if refused:
        whose, why = word(refused[0].get("client"), 60), word(refused[0].get("reason"))
        yield f"{len(refused)} {'reply' if len(refused) == 1 else 'replies'} refused, the first of {whose}: {why}"
    silent = [each.get("client") for each in listed(event.get("silent")) if isinstance(each, Mapping)]
    if silent:
        yield f"no answer from {some(silent)}"


def method_facts(facts: Mapping[str, object]) -> Iterator[str]:
    """What a method tells of its groups, whichever method it is."""
    discovery = facts.get("discovery")
    if isinstance(discovery, Mapping):
        known = ("count", "confidence", "silhouette", "sizes", "distance")
        yield "looked for groups: " + ", ".join(
            f"{name} {word(discovery[name], 60)}" for name in known if name in discovery
        )
    if splits := listed(facts.get("splits")):
        yield f"{len(splits)} {'group was' if len(splits) == 1 else 'groups were'} split"
    if undone := listed(facts.get("undone")):
        yield f"{len(undone)} {'split was' if len(undone) == 1 else 'splits were'} undone"
    if moved := listed(facts.get("moved")):
        yield f"moved to another group: {some(moved)}"
    if facts.get("clustered_again") is True:
        yield "groups were looked for again"


def some(clients: list[object]) -> str:
    """The first names of a list, and how many more there are."""
    named = ", ".join(word(client, 60) for client in clients[:NAMED])
    return named + (f" and {len(clients) - NAMED} more" if len(clients) > NAMED else "")


def seconds(time: object) -> float:
    """A time of the log in seconds since 1970; 0 if it is none."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def clock(time: object) -> str:
    """A time of the log as a reader wants it: the hour, minute and second, UTC."""
    try:
        return f"{datetime.fromisoformat(str(time)):%H:%M:%S}"
    except ValueError:
        return ""
