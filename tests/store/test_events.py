"""Every kind of event has its line in the log, key by key; from a line that is torn or hostile no reader crashes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.store import events
from fedclade.store.events import (
    KINDS,
    Event,
    MissingReply,
    UnknownEvent,
    from_json,
    parse_event,
    parse_events,
    to_json,
)

REFUSED = events.RefusedReply("a", "train", "x")
METRICS: dict[str, Any] = {
    "accuracy": 0.5,
    "accuracy_weighted": 0.5,
    "accuracy_variance": 1.5,
    "worst_tenth": 0.25,
    "loss": 2,
}
LINES: list[tuple[Event, str]] = [
    (
        events.StartEvent(clients=3, bytes_up=5, refused=(REFUSED,), facts={"a": 1}, arrays=events.ArrayFile("f", "s")),
        '"round": 0, "clients": 3, "bytes_up": 5, "bytes_down": null, "took_part": null, "refused": [{"client": "a", '
        '"verb": "train", "reason": "x"}], "silent": [], "facts": {"a": 1}, "arrays": {"file": "f", "sha256": "s"}',
    ),
    (
        events.RoundEvent(round=1, bytes_up=5, bytes_down=7, took_part=0, silent=(MissingReply("b", "train"),)),
        '"round": 1, "training_loss": null, "bytes_up": 5, "bytes_down": 7, "took_part": 0, "refused": [], '
        '"silent": [{"client": "b", "verb": "train"}], "facts": {}',
    ),
    (
        events.EvaluationEvent(
            round=2,
            **METRICS,
            perplexity=7.4,
            task="classification",
            metric="accuracy",
            lower_is_better=("loss",),
            metrics={"accuracy": 0.5},
            baseline={"auc": 0.5},
            group_count=2,
            accuracy_by_group=(0.5, None),
            metric_by_group=(0.5,),
        ),
        '"round": 2, "accuracy": 0.5, "accuracy_weighted": 0.5, "accuracy_variance": 1.5, "worst_tenth": 0.25, '
        '"loss": 2, "perplexity": 7.4, "task": "classification", "metric": "accuracy", "lower_is_better": ["loss"], '
        '"metrics": {"accuracy": 0.5}, "baseline": {"auc": 0.5}, "group_count": 2, "accuracy_by_group": [0.5, null], '
        '"accuracy_by_planted_group": null, "metric_by_group": [0.5], "metric_by_planted_group": null, "ari": null',
    ),
    (
        events.LrSearchEvent(values=(0.1, 9), scores=(0.5, None), lr=0.1, rounds=5, clients=3, bytes_up=7),
        '"round": 0, "values": [0.1, 9], "scores": [0.5, null], "lr": 0.1, "rounds": 5, "clients": 3, "bytes_up": 7, '
        '"bytes_down": null, "took_part": null, "refused": [], "silent": [], "facts": {}',
    ),
    (events.DivergedEvent(round=2, reason="a loss over 7"), '"round": 2, "reason": "a loss over 7"'),
    (events.ValidationEvent(round=2, loss=0.5, clients=3), '"round": 2, "loss": 0.5, "clients": 3'),
    (events.EarlyStopEvent(round=9, kept=7, reason="x"), '"round": 9, "kept": 7, "reason": "x"'),
    (events.PlantedEvent(groups=(("a", "b"), ("c",))), '"round": 0, "groups": [["a", "b"], ["c"]]'),
    (events.NewcomersEvent(round=3, clients=("d",), facts={"b": 1}), '"round": 3, "clients": ["d"], "facts": {"b": 1}'),
    (events.LeftEvent(round=3, clients=("a", "b")), '"round": 3, "clients": ["a", "b"]'),
    (events.ReturnedEvent(round=4, clients=("a",)), '"round": 4, "clients": ["a"]'),
    (events.ResumeEvent(round=4, repaired=True), '"round": 4, "repaired": true'),
]


def test_every_event_has_its_line() -> None:
    assert {event.kind for event, _ in LINES} == set(KINDS)
    for event, line in LINES:
        whole = f'{{"event": "{event.kind}", "time": "", {line}}}'
        assert json.dumps(to_json(event)) == whole
        assert parse_event(whole.encode()) == event


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (
            '{"event": "round", "round": "z", "bytes_up": "many", "facts": "x", "refused": 3, "time": 4}',
            events.RoundEvent(),
        ),
        (
            '{"event": "round", "round": -1, "bytes_up": true, "silent": [3, {}]}',
            events.RoundEvent(silent=(MissingReply(),)),
        ),
        (
            '{"event": "evaluation", "accuracy": NaN, "loss": 1e999, "accuracy_by_group": {"a": 1}}',
            events.EvaluationEvent(),
        ),
        ('{"event": "start", "clients": ["a"], "took_part": ' + "9" * 400 + "}", events.StartEvent()),
        ('{"event": "planted", "groups": [1, ["a", 2]]}', events.PlantedEvent(groups=((), ("a", "2")))),
        ('{"event": "resume", "repaired": "yes", "more": 1}', events.ResumeEvent()),
        ('{"event": "of tomorrow", "round": 3, "facts": {}}', UnknownEvent(name="of tomorrow", round=3)),
        ('{"event": ["round"], "name": "x"}', UnknownEvent()),
        ("[1]", UnknownEvent()),
        ('{"event": "round"', None),
        ("[" * 100_000, None),
        ("\xff", None),
    ],
)
def test_bad_fields_are_absent(line: str, event: Event | None) -> None:
    assert parse_event(line.encode("latin-1")) == event


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.sampled_from(sorted(KINDS)), st.data())
def test_any_values_can_be_read_and_written(kind: str, data: st.DataObject) -> None:
    keys = set(to_json(KINDS[kind]())) | {"arrays"}
    line = {key: data.draw(JSON) for key in keys}
    event = from_json({**line, "event": kind})
    assert isinstance(event, KINDS[kind])
    assert repr(from_json(json.loads(json.dumps(to_json(event))))) == repr(event)  # NaN is not equal to itself


def test_a_line_that_is_being_written_is_left_for_the_next_time() -> None:
    log = b'{"event": "left"}\n[1]\nnot JSON\n{"event": "le'
    assert parse_events(log) == ([events.LeftEvent(), UnknownEvent(), None], log.rfind(b"\n") + 1)
    assert parse_events(log[log.rfind(b"\n") + 1 :]) == ([], 0)


def test_times_are_seconds_since_1970() -> None:
    assert Event(time="1970-01-01T00:01:00.500+00:00").seconds == 60.5
    assert [Event(time=time).seconds for time in ("", "yesterday", "9" * 30)] == [0, 0, 0]
