"""The events of a run: one JSON object in a line of the log, {"event": KIND, "time": ..., "round": ..., and more}.

The form of an event is its class here, and a field's name is its key in JSON; `facts` alone are of a method's own form.
A line may be torn, hostile, or of another version of fedclade: a field that has not the declared form is read as
absent, and an event of a kind that is not known here as an `UnknownEvent`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar, get_type_hints

from fedclade.core import ClientId
from fedclade.core.task import MetricKind, kind_of_metric
from fedclade.store.json_values import as_list, count, number

Number: TypeAlias = float | None
"""None where it is not known."""
NamedNumbers: TypeAlias = Mapping[str, float | None]
EventFacts: TypeAlias = Mapping[str, Any]
"""The report of a method, in a form of its own. Arrays stand in a file beside the log (`event_arrays`)."""


@dataclass(frozen=True)
class RefusedReply:
    """A reply that the gate did not let through."""

    client: ClientId = ""
    verb: str = ""
    reason: str = ""


@dataclass(frozen=True)
class MissingReply:
    """A request that a client did not answer."""

    client: ClientId = ""
    verb: str = ""


@dataclass(frozen=True)
class ArrayFile:
    """The file that holds the arrays of an event's facts: its name in the folder of arrays, and its SHA-256."""

    file: str = ""
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class Event:
    """The fields of all events."""

    kind: ClassVar[str] = ""
    time: str = ""
    """UTC in ISO format, to the millisecond; set when the event is written."""
    round: int = 0
    """0: before the first round."""

    @property
    def seconds(self) -> float:
        """The time in seconds since 1970; 0 if it cannot be read."""
        try:
            return datetime.fromisoformat(self.time).timestamp()
        except (ValueError, OverflowError):
            return 0.0


@dataclass(frozen=True, kw_only=True)
class UnknownEvent(Event):
    """A line of JSON that holds no event of a kind that is known here."""

    name: str = ""
    """Of its kind; empty: it holds no event at all."""


@dataclass(frozen=True, kw_only=True)
class FactsEvent(Event):
    """An event in which a method reports."""

    facts: EventFacts = field(default_factory=dict)
    arrays: ArrayFile | None = None
    """None: the facts have no arrays."""


@dataclass(frozen=True, kw_only=True)
class TrafficEvent(FactsEvent):
    """An event for which messages were sent."""

    bytes_up: Number = None
    """Bytes from clients to the server, without evaluation."""
    bytes_down: Number = None
    """The same from the server to clients."""
    took_part: Number = None
    """How many clients trained and were heard."""
    refused: tuple[RefusedReply, ...] = ()
    silent: tuple[MissingReply, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StartEvent(TrafficEvent):
    """The method has started."""

    kind = "start"
    clients: int = 0
    """How many there are."""


@dataclass(frozen=True, kw_only=True)
class RoundEvent(TrafficEvent):
    """A round has been played."""

    kind = "round"
    training_loss: Number = None
    """The median of the training losses that clients said; None if nobody trained."""


@dataclass(frozen=True, kw_only=True)
class EvaluationEvent(Event):
    """The models were tested after a round: the metrics of `fedclade.runs.metrics`, None where nobody answered."""

    kind = "evaluation"
    accuracy: Number = None
    """Mean over clients, 0 to 1."""
    accuracy_weighted: Number = None
    """The same weighted by test examples."""
    accuracy_variance: Number = None
    """Over clients, of the accuracy in percent."""
    worst_tenth: Number = None
    """Mean of the main metric over the worst tenth of the clients."""
    loss: Number = None
    """Mean over clients."""
    perplexity: Number = None
    task: str = ""
    """What is learned: the kind of a `fedclade.core.task.Task`."""
    metric: str = ""
    """The name of the main metric."""
    lower_is_better: tuple[str, ...] = ()
    """The metrics of which less is better."""
    metrics: NamedNumbers = field(default_factory=dict)
    """Every metric of the task, by name."""
    baseline: NamedNumbers = field(default_factory=dict)
    """The same of an answer that is always the same."""
    group_count: Number = None
    accuracy_by_group: tuple[Number, ...] = ()
    accuracy_by_planted_group: tuple[Number, ...] | None = None
    """None: no groups are planted; likewise `metric_by_planted_group` and `ari`."""
    metric_by_group: tuple[Number, ...] = ()
    """The mean of the main metric, which is the accuracy where there is one."""
    metric_by_planted_group: tuple[Number, ...] | None = None
    ari: Number = None
    """Adjusted Rand index of the groups and the planted ones: 1 if they are the same, about 0 by chance."""

    @property
    def value(self) -> Number:
        """Of the main metric."""
        return self.metrics.get(self.metric) if self.metric else self.accuracy

    @property
    def metric_kind(self) -> MetricKind:
        """How the main metric is read."""
        return kind_of_metric(self.task, self.metric or "accuracy", self.lower_is_better)


@dataclass(frozen=True, kw_only=True)
class LrSearchEvent(TrafficEvent):
    """Step sizes were tried before the first round."""

    kind = "lr-search"
    values: tuple[Number, ...] = ()
    """The smallest first."""
    scores: tuple[Number, ...] = ()
    """Of each, more is better: mean over clients of the share that is right, or of minus the loss. None: diverged."""
    lr: Number = None
    """The one that was chosen."""
    rounds: int = 0
    """That each was tried for."""
    clients: int = 0
    """That tried them."""


@dataclass(frozen=True, kw_only=True)
class DivergedEvent(Event):
    """The models of a round that was evaluated are of no use: training diverges."""

    kind = "diverged"
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ValidationEvent(Event):
    """The models of a round were tested on examples that are set aside for that, to find the best round."""

    kind = "validation"
    loss: Number = None
    """Mean over clients, each bounded; None if nobody answered."""
    clients: int = 0
    """How many answered."""


@dataclass(frozen=True, kw_only=True)
class EarlyStopEvent(Event):
    """The run has ended before its last round."""

    kind = "early-stop"
    kept: int = 0
    """The round whose models are kept."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class PlantedEvent(Event):
    """The planted groups from this round on."""

    kind = "planted"
    groups: tuple[tuple[ClientId, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class NewcomersEvent(FactsEvent):
    """Clients that the method has no models of have joined, and were placed."""

    kind = "newcomers"
    clients: tuple[ClientId, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LeftEvent(Event):
    """Clients that have models cannot be reached any more."""

    kind = "left"
    clients: tuple[ClientId, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReturnedEvent(Event):
    """Clients that had left can be reached again."""

    kind = "returned"
    clients: tuple[ClientId, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ResumeEvent(Event):
    """The run was resumed after this round."""

    kind = "resume"
    repaired: bool = False
    """Whether damaged files were given up for it."""


KNOWN = (
    *(
        LrSearchEvent,
        StartEvent,
        RoundEvent,
        EvaluationEvent,
        DivergedEvent,
        ValidationEvent,
        EarlyStopEvent,
        PlantedEvent,
    ),
    *(NewcomersEvent, LeftEvent, ReturnedEvent, ResumeEvent),
)
KINDS: Mapping[str, type[Event]] = {made.kind: made for made in KNOWN}
Record = TypeVar("Record", RefusedReply, MissingReply, ArrayFile)


def to_json(event: Event) -> dict[str, object]:
    """The event as an object for JSON; only its facts may still hold arrays."""
    line = {"event": event.kind, **{key: plain_value(getattr(event, key)) for key in json_keys(type(event))}}
    if line.get("arrays", "") is None:
        del line["arrays"]
    return line


def json_keys(made: type[Event]) -> tuple[str, ...]:
    """The keys of an event in the order of its line: of all events, of its own class, of the classes above it."""
    declared = {each.name for each in fields(made)}
    ordered = [name for each in (Event, *made.__mro__[:-1]) for name in each.__annotations__ if name in declared]
    return tuple(dict.fromkeys(ordered))


def plain_value(value: object) -> object:
    """A field's value with lists for tuples, and objects for records."""
    if isinstance(value, tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, RefusedReply | MissingReply | ArrayFile):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value


def from_json(value: object) -> Event:
    """The event of a JSON value, whatever that is."""
    line = value if isinstance(value, dict) else {}
    kind = read_text(line.get("event"))
    made = KINDS.get(kind, UnknownEvent)
    known = {name: read(line[name]) for name, read in FIELD_READERS[made].items() if name in line}
    return UnknownEvent(**{**known, "name": kind}) if made is UnknownEvent else made(**known)


def parse_event(line: bytes) -> Event | None:
    """The event of a line; None if it is not JSON."""
    try:
        return from_json(json.loads(line))
    except (ValueError, RecursionError):
        return None


def parse_events(log: bytes) -> tuple[list[Event | None], int]:
    """The events of a log, or of one from an offset on, by `parse_event`; and how many bytes their lines take.

    The last line may be being written: bytes behind the last end of a line are left for the next time.
    """
    size = log.rfind(b"\n") + 1
    return [parse_event(line) for line in log[:size].split(b"\n")[:-1]], size


# -- reading a field: every reader takes any JSON value ---------------------------------------------------------------


def read_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_names(value: object) -> tuple[ClientId, ...]:
    return tuple(str(each) for each in as_list(value))


def read_numbers(value: object) -> tuple[Number, ...]:
    return tuple(number(each) for each in as_list(value))


def read_record(made: type[Record], value: object) -> Record:
    found = value if isinstance(value, dict) else {}
    return made(**{each.name: read_text(found.get(each.name)) for each in fields(made)})


def read_records(made: type[Record], value: object) -> tuple[Record, ...]:
    return tuple(read_record(made, each) for each in as_list(value) if isinstance(each, dict))


READERS: Mapping[object, Callable[[object], Any]] = {
    str: read_text,
    int: count,
    bool: lambda value: value is True,
    Number: number,
    NamedNumbers: lambda value: (
        {str(name): number(each) for name, each in value.items()} if isinstance(value, dict) else {}
    ),
    EventFacts: lambda value: value if isinstance(value, dict) else {},
    tuple[Number, ...]: read_numbers,
    tuple[Number, ...] | None: lambda value: read_numbers(value) if isinstance(value, list) else None,
    tuple[ClientId, ...]: read_names,
    tuple[tuple[ClientId, ...], ...]: lambda value: tuple(read_names(each) for each in as_list(value)),
    tuple[RefusedReply, ...]: partial(read_records, RefusedReply),
    tuple[MissingReply, ...]: partial(read_records, MissingReply),
    ArrayFile | None: partial(read_record, ArrayFile),
}
"""By the type that a field is declared with."""
FIELD_READERS: Mapping[type[Event], Mapping[str, Callable[[object], Any]]] = {
    made: {each.name: READERS[get_type_hints(made)[each.name]] for each in fields(made)}
    for made in (*KNOWN, UnknownEvent)
}
"""The reader of each field of an event, by its key."""
