"""Arrays among facts stand in a file beside the events, and come back; a folder that lies about them is damaged."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from fedclade.nouns import Assignment, Damaged
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
    assert start["arrays"] == "00000-start.safetensors"
    assert "arrays" not in round_
    plain = start["facts"]
    assert isinstance(plain, dict)
    assert plain["discovery"] == {"squared": {"array": "facts.discovery.squared"}, "names": ["a", "b"]}
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
    "name", ["../../etc/passwd", "/etc/passwd", "00000-start.safetensors/..", "", None, 7, ["00000-start.safetensors"]]
)
def test_an_event_names_no_other_file(written: RunFolder, name: object) -> None:
    with pytest.raises(Damaged, match="names no file of arrays"):
        written.facts({"facts": {}, "arrays": name})


def test_what_cannot_be_read_is_damaged(written: RunFolder) -> None:
    start = next(written.events())
    path = written.path / "arrays" / "00000-start.safetensors"
    for content in (b"", b"x" * 9, json.dumps({"a": 1}).encode() * 10, path.read_bytes()[:-5]):
        path.write_bytes(content)
        with pytest.raises(Damaged, match="cannot be read"):
            written.facts(start)
    path.unlink()
    with pytest.raises(Damaged, match="are gone"):
        written.facts(start)
    os.mkfifo(path)  # to read it would wait for ever
    with pytest.raises(Damaged, match="are gone"):
        written.facts(start)
