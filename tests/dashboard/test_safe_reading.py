"""Files are read as they are at this moment: half-written, cut short, replaced, or not what they seem."""

import json
import os
from pathlib import Path

import pytest

from fedclade.dashboard.safe_reading import BLOCK, content, last_events, mark_of, short_text
from fedclade.store.events import EvaluationEvent, RoundEvent
from fedclade.store.json_values import as_object, count, number


def line(**event: object) -> bytes:
    return json.dumps(event).encode() + b"\n"


def test_the_last_of_each_kind_is_found_at_the_end(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(
        line(event="round", round=1)
        + line(event="evaluation", round=1, accuracy=0.5)
        + line(event="round", round=2)
        + line(event="left", round=2)
        + b'{"event": "round", "round": 3'  # being written
    )
    assert last_events(log) == (RoundEvent(round=2), EvaluationEvent(round=1, accuracy=0.5))


def test_a_line_longer_than_a_block_is_read_whole(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    long = [1.0] * BLOCK
    log.write_bytes(line(event="evaluation", accuracy_by_group=long) + line(event="round", round=1) * 3000)
    assert last_events(log) == (RoundEvent(round=1), EvaluationEvent(accuracy_by_group=tuple(long)))


@pytest.mark.parametrize(
    "broken", [b"", b"\n\n", b"not json\n", b"[1, 2]\n", b'"text"\n', b"\xff\xfe\n", b"[" * 100_000 + b"\n"]
)
def test_lines_that_hold_no_event_are_passed_over(broken: bytes, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(line(event="round", round=7) + broken)
    assert last_events(log) == (RoundEvent(round=7), None)
    assert as_object(broken) == {}


def test_links_and_pipes_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")  # reading one waits for ever
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "nothing", "a\0b"):
        assert mark_of(tmp_path / name) is None
        assert content(tmp_path / name) == b""
    assert content(tmp_path / "secret", 2, 3) == b"cre"


def test_a_mark_changes_with_the_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one")
    first = mark_of(file)
    with open(file, "ab") as more:
        more.write(b"!")
    assert mark_of(file) != first
    assert mark_of(str(file)) == mark_of(file)


def test_what_is_no_number_is_none() -> None:
    assert number(0.25) == 0.25
    assert number(3) == 3.0
    odd: tuple[object, ...] = (None, True, "0.5", float("nan"), float("inf"), 10**400, [1], {})
    for value in odd:
        assert number(value) is None
    assert (count(4), count(-1), count("<b>"), count(2.9)) == (4, 0, 0, 2)


def test_any_text_can_be_sent() -> None:
    assert short_text("\ud800<b>").encode() == b"?<b>"
    assert short_text("x" * 500, 10) == "x" * 9 + "\N{HORIZONTAL ELLIPSIS}"
    assert short_text([1, "a"]) == '[1, "a"]'
