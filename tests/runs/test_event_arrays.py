"""Arrays among facts stand in a file beside the events, and come back; a folder that lies about them is damaged."""

import json
import os
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from fedclade.nouns import Assignment, Damaged, InputError
from fedclade.runs.folder import Checkpoint, RunFolder

FACTS = {"discovery": {"squared": np.eye(3, dtype=np.float32), "names": ["a", "b"]}, "parts": [np.arange(2), 7]}


@pytest.fixture
def written(tmp_path: Path) -> RunFolder:
    """A run that is finished, with arrays in its start."""
    with RunFolder.create(tmp_path / "run", "", {}) as folder:
        folder.note("start", round=0, facts=FACTS)
        folder.note("round", round=1, facts={"array": "a word", "other": {"array": ["no", "name"]}})
        folder.save(Checkpoint(1, {}, {}, {}))
        folder.finish({}, Assignment.of_one(np.zeros(2, np.float32), ("a",)))
    return folder


def test_arrays_come_back_and_the_events_stay_plain(written: RunFolder) -> None:
    start, round_ = written.events()
    name = "00000-start.safetensors"
    assert start["arrays"] == {
        "file": name,
        "sha256": sha256((written.path / "arrays" / name).read_bytes()).hexdigest(),
    }
    assert "arrays" not in round_
    plain = start["facts"]
    assert isinstance(plain, dict)
    assert plain["discovery"] == {"squared": {"array": "0"}, "names": ["a", "b"]}
    again = written.facts(start)
    assert isinstance(again["discovery"], dict)
    np.testing.assert_array_equal(again["discovery"]["squared"], np.eye(3))
    assert isinstance(again["parts"], list)
    np.testing.assert_array_equal(again["parts"][0], [0, 1])
    assert again["parts"][1] == 7
    assert written.facts(round_) == {"array": "a word", "other": {"array": ["no", "name"]}}
    assert written.facts({"event": "round"}) == {}


def test_a_finished_run_knows_its_arrays(written: RunFolder) -> None:
    written.verify()
    path = written.path / "arrays" / "00000-start.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(Damaged, match="00000-start"):
        written.verify()


@pytest.mark.parametrize(
    "named",
    [
        *(
            {"file": name, "sha256": ""}
            for name in ("../../etc/passwd", "/etc/passwd", "00000-start.safetensors/..", "")
        ),
        *({"file": None, "sha256": ""}, {"file": "00000-start.safetensors"}, None, 7, ["00000-start.safetensors"]),
    ],
)
def test_an_event_names_no_other_file(written: RunFolder, named: object) -> None:
    with pytest.raises(Damaged, match="names no file of arrays"):
        written.facts({"facts": {}, "arrays": named})


def test_what_cannot_be_read_is_damaged(written: RunFolder) -> None:
    start = next(written.events())
    path = written.path / "arrays" / "00000-start.safetensors"
    for content in (b"", b"x" * 9, json.dumps({"a": 1}).encode() * 10, path.read_bytes()[:-5]):
        path.write_bytes(content)
        with pytest.raises(Damaged, match="are damaged"):
            written.facts(start)
        false = {**start, "arrays": {"file": path.name, "sha256": sha256(content).hexdigest()}}
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
        folder.note("start", round=0, facts=FACTS)
        folder.save(Checkpoint(0, {}, {}, {}))
    (path / "arrays" / "09999-round.safetensors").write_bytes(b"a stray file is nobody's")
    file = path / "arrays" / "00000-start.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with RunFolder.open(path) as folder:
        folder.hold()
        with pytest.raises(Damaged, match="00000-start"):
            folder.latest()
    with RunFolder.open(path) as folder:
        folder.hold()
        assert folder.latest(repair=True) is not None
    file.write_bytes(content)
    with RunFolder.open(path) as folder:
        folder.hold()
        assert folder.latest() is not None
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
        folder.note("round", round=1, facts=fact)


def test_shapes_and_keys_with_dots_are_kept(tmp_path: Path) -> None:
    facts = {"a.b": np.array(7), "a": {"b": np.array([1.5])}}
    with RunFolder.create(tmp_path / "run", "", {}) as folder:
        folder.note("round", round=1, facts=facts)
    folder = RunFolder.open(tmp_path / "run")
    again = folder.facts(next(folder.events()))
    assert isinstance(again["a.b"], np.ndarray)
    assert again["a.b"].shape == ()
    assert isinstance(again["a"], dict)
    assert again["a"]["b"].tolist() == [1.5]
