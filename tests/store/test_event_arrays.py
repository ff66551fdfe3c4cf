"""Arrays among facts stand in a file beside the events, and come back; a folder that lies about them is damaged."""

import json
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from fedclade.core import Assignment, Damaged, InputError
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.events import ArrayFile, FactsEvent, RoundEvent, StartEvent, from_json
from fedclade.store.run_folder import RunFolder

FACTS = {"discovery": {"squared": np.eye(3, dtype=np.float32), "names": ["a", "b"]}, "parts": [np.arange(2), 7]}


@pytest.fixture
def written(tmp_path: Path) -> RunFolder:
    """A run that is finished, with arrays in its start."""
    with RunFolder.create(tmp_path / "run", "", {}) as folder:
        folder.log_event(StartEvent(facts=FACTS))
        folder.log_event(RoundEvent(round=1, facts={"array": "a word", "other": {"array": ["no", "name"]}}))
        folder.save(Checkpoint(1, {}, {}, {}))
        folder.finish({}, Assignment.of_one(np.zeros(2, np.float32), ("a",)))
    return folder


def test_arrays_come_back_and_the_events_stay_plain(written: RunFolder) -> None:
    start, round_ = written.events(FactsEvent)
    name = "00000-start.safetensors"
    assert start.arrays == ArrayFile(name, sha256((written.path / "arrays" / name).read_bytes()).hexdigest())
    assert round_.arrays is None
    assert start.facts["discovery"] == {"squared": {"array": "0"}, "names": ["a", "b"]}
    again = written.facts(start)
    np.testing.assert_array_equal(again["discovery"]["squared"], np.eye(3))
    np.testing.assert_array_equal(again["parts"][0], [0, 1])
    assert again["parts"][1] == 7
    assert written.facts(round_) == {"array": "a word", "other": {"array": ["no", "name"]}}
    assert written.facts(RoundEvent()) == {}


NO_FILES = ("../../etc/passwd", "/etc/passwd", "00000-start.safetensors/..", "", None)


@pytest.mark.parametrize(
    "named",
    [
        *({"file": name, "sha256": "0" * 64} for name in NO_FILES),
        *({"file": "00000-start.safetensors"}, None, 7, ["00000-start.safetensors"]),
    ],
)
def test_an_event_names_no_other_file(written: RunFolder, named: object) -> None:
    event = from_json({"event": "round", "facts": {}, "arrays": named})
    assert isinstance(event, RoundEvent)
    with pytest.raises(Damaged, match="names no file of arrays"):
        written.facts(event)


def test_what_cannot_be_read_is_damaged(written: RunFolder) -> None:
    written.verify()
    start = next(written.events(StartEvent))
    path = written.path / "arrays" / "00000-start.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(Damaged, match="00000-start"):
        written.verify()
    for content in (b"", b"x" * 9, json.dumps({"a": 1}).encode() * 10, whole[:-5]):
        path.write_bytes(content)
        with pytest.raises(Damaged, match="are damaged"):
            written.facts(start)
        false = replace(start, arrays=ArrayFile(path.name, sha256(content).hexdigest()))
        with pytest.raises(Damaged, match="are damaged"):
            written.facts(false)
    path.unlink()
    with pytest.raises(Damaged, match="are gone"):
        written.facts(start)
    os.mkfifo(path)  # to read it would wait for ever
    with pytest.raises(Damaged, match="are gone"):
        written.facts(start)


def test_arrays_that_changed_while_a_run_was_stopped_are_found(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunFolder.create(path, "", {}) as folder:
        folder.log_event(StartEvent(facts=FACTS))
        folder.save(Checkpoint(0, {}, {}, {}))
    (path / "arrays" / "09999-round.safetensors").write_bytes(b"a stray file")
    file = path / "arrays" / "00000-start.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with RunFolder.open(path) as folder:
        folder.acquire()
        with pytest.raises(Damaged, match="00000-start"):
            folder.restore_latest()
        folder.close()
        folder.acquire()
        assert folder.restore_latest(repair=True) is not None
        folder.close()
        file.write_bytes(content)
        folder.acquire()
        assert folder.restore_latest() is not None
        folder.finish({}, Assignment.of_one(np.zeros(2, np.float32), ("a",)))
        folder.verify()


@pytest.mark.parametrize(
    ("fact", "where"),
    [
        ({"x": {1, 2}}, "facts.x: got set"),
        ({"deep": [{"y": object()}]}, "facts.deep.y: got object"),
        ({"names": np.array(["a"])}, "facts.names: got array of <U1"),
    ],
)
def test_what_is_not_plain_is_named(tmp_path: Path, fact: dict[str, object], where: str) -> None:
    with RunFolder.create(tmp_path / "run", "", {}) as folder, pytest.raises(InputError, match=where):
        folder.log_event(RoundEvent(round=1, facts=fact))


def test_shapes_and_keys_with_dots_are_kept(tmp_path: Path) -> None:
    facts = {"a.b": np.array(7), "a": {"b": np.array([1.5])}}
    with RunFolder.create(tmp_path / "run", "", {}) as folder:
        folder.log_event(RoundEvent(round=1, facts=facts))
    again = folder.facts(next(folder.events(RoundEvent)))
    assert isinstance(again["a.b"], np.ndarray)
    assert again["a.b"].shape == ()
    assert again["a"]["b"].tolist() == [1.5]
