"""A run folder: damage is found and named, one writer at a time, a kill loses nothing."""

import ast
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fedclade.core import Assignment, Damaged, Stopped
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.client_table import CLIENT_SCHEMA
from fedclade.store.events import LeftEvent, RoundEvent
from fedclade.store.manifest import encode_manifest, read_manifest
from fedclade.store.run_folder import RunFolder
from refusals import check_refused

SOURCES = Path(__file__).parents[2] / "src"
NAMES = "environment.json events.jsonl clients.parquet clients.arrows result.json rows.safetensors assignment.json"
STATES = [np.arange(6, dtype=np.float32) + number for number in range(4)]


def write(folder: RunFolder, number: int) -> None:
    folder.log_event(RoundEvent(round=number))
    folder.save(Checkpoint(number, {"n": number}, {"state.row": STATES[number]}, {"seconds": 1.5 * number}))


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A run that was stopped after its third round."""
    with RunFolder.create(tmp_path / "run", 'asked = "something"\n', {"python": "3"}) as folder:
        for number in range(4):
            write(folder, number)
        folder.log_event(LeftEvent(round=4))
    return tmp_path / "run"


def reached(path: Path, *, repair: bool = False) -> Checkpoint | None:
    with RunFolder.open(path) as folder:
        folder.acquire()
        return folder.restore_latest(repair=repair)


def round_reached(path: Path, *, repair: bool = False) -> int | None:
    found = reached(path, repair=repair)
    return None if found is None else found.round


def check_damaged(path: Path, said: str | None = None, *, repair: bool = False) -> None:
    with pytest.raises(Damaged, match=said):
        reached(path, repair=repair)


def test_the_last_two_states_are_kept_and_the_last_comes_back(stopped: Path) -> None:
    assert sorted(path.name for path in (stopped / "checkpoint").iterdir()) == ["round-00002", "round-00003"]
    found = reached(stopped)
    assert found is not None
    assert (found.round, found.tree, found.totals) == (3, {"n": 3}, {"seconds": 4.5})
    assert found.arrays["state.row"].tobytes() == STATES[3].tobytes()


def test_checkpoints_are_ordered_by_their_number(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", "asked", {}) as folder:
        for number in (99_998, 99_999, 100_000, 100_001):
            folder.log_event(RoundEvent(round=number))
            folder.save(Checkpoint(number, {}, {}, {}))
    (tmp_path / "run" / "checkpoint" / "round-zzz").write_text("")
    (tmp_path / "run" / "checkpoint" / ".x.new").write_text("")
    assert round_reached(tmp_path / "run") == 100_001


def test_missing_checkpoints_are_found(stopped: Path) -> None:
    shutil.rmtree(stopped / "checkpoint")
    check_damaged(stopped, "the checkpoints are missing")
    assert reached(stopped, repair=True) is None


def test_events_after_the_checkpoint_are_cut_off(stopped: Path) -> None:
    with open(stopped / "events.jsonl", "ab") as file:
        file.write(b'{"event": "rou')
    assert [event.kind for event in RunFolder.open(stopped).events()] == ["round"] * 4 + ["left"]
    reached(stopped)
    assert [event.round for event in RunFolder.open(stopped).events()] == [0, 1, 2, 3]


def test_an_event_that_is_not_json_is_damage(stopped: Path) -> None:
    log = stopped / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], b"[1]\n", b"torn\n", *lines[1:]]))
    with pytest.raises(Damaged, match=r"an event cannot be read, .*events\.jsonl, line 3"):
        list(RunFolder.open(stopped).events())


@pytest.mark.parametrize("name", ["state.json", "state.safetensors", "manifest.json"])
def test_one_flipped_bit_anywhere_is_found(stopped: Path, name: str) -> None:
    path = stopped / "checkpoint" / "round-00003" / name
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :])
        with pytest.raises(Damaged, match="resume --repair") as caught:
            reached(stopped)
        assert name in str(caught.value) or "manifest" in str(caught.value)
    path.write_bytes(content)
    assert reached(stopped) is not None
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        check_damaged(stopped)
    path.unlink()
    check_damaged(stopped)


def test_repair_goes_back_to_the_checkpoint_before_unless_both_are_damaged(stopped: Path) -> None:
    (stopped / "checkpoint" / "round-00003" / "state.json").write_bytes(b"{}")
    assert round_reached(stopped, repair=True) == 2
    assert [event.round for event in RunFolder.open(stopped).events()] == [0, 1, 2]
    (stopped / "checkpoint" / "round-00002" / "state.json").write_bytes(b"{}")
    check_damaged(stopped, repair=True)


def test_a_damaged_table_of_clients_can_be_given_up(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", "asked", {}) as folder:
        for number in range(3):
            line = [[number], ["a"], [0.5], [0.1], [0], [8], [True], [0.5], [None], [2]]
            folder.log_clients(pa.record_batch(line, schema=CLIENT_SCHEMA))
            write(folder, number)
    path = tmp_path / "run" / "clients.arrows"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    check_damaged(tmp_path / "run", f"clients.arrows is damaged.*fedclade resume --repair {tmp_path}")
    assert reached(tmp_path / "run", repair=True) is not None
    kept = RunFolder.open(tmp_path / "run").clients().to_pydict()["round"]
    assert kept == [0, 1][: len(kept)]
    assert kept


@pytest.mark.parametrize("lost", [1, 50, 10**9])
def test_a_truncated_log_is_found_and_can_be_given_up(stopped: Path, lost: int) -> None:
    reached(stopped)  # cut back to the checkpoint
    path = stopped / "events.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-lost] if lost < len(content) else b"")
    check_damaged(stopped, r"events\.jsonl is damaged.*resume --repair")
    assert round_reached(stopped, repair=True) == 3
    assert all(event.kind == "round" for event in RunFolder.open(stopped).events())


def test_a_changed_experiment_is_found(stopped: Path) -> None:
    (stopped / "experiment.toml").write_text('asked = "something else"\n')
    check_damaged(stopped, r"experiment\.toml is not what the run was started with")


@pytest.mark.parametrize("format_", [1, 99])
def test_another_format_is_refused(stopped: Path, format_: int) -> None:
    """Not damaged, and nothing to repair: the error says what to do."""
    path = stopped / "checkpoint" / "round-00003" / "manifest.json"
    path.write_bytes(encode_manifest({**read_manifest(path), "format": format_}))
    text = rf"another version of fedclade, .*: got a checkpoint of format {format_}, .*need format 4; do: go on with"
    check_refused(text, reached, stopped)


def test_a_folder_is_taken_once(stopped: Path, tmp_path: Path) -> None:
    check_refused("the run folder is taken", RunFolder.create, stopped, "", {})
    (tmp_path / "file").write_text("")
    check_refused("is taken", RunFolder.create, tmp_path / "file", "", {})
    check_refused("cannot be made", RunFolder.create, tmp_path / "file" / "below", "", {})


def test_a_start_that_was_killed_leaves_the_folder_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").write_text("process 1 on nowhere\n")
    (tmp_path / "run" / ".experiment.toml.new").write_text("half")
    with RunFolder.create(tmp_path / "run", "whole", {}) as folder:
        assert (folder.path / "experiment.toml").read_text() == "whole"


HOLDER = """
import sys
from pathlib import Path
from fedclade.store.run_folder import RunFolder
folder = RunFolder.open(Path(sys.argv[1]))
folder.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_one_writer_at_a_time_and_a_dead_one_holds_nothing(stopped: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(stopped)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    try:
        assert other.stdout.readline() == "held\n"
        assert RunFolder.open(stopped).writer.startswith(f"process {other.pid} on ")
        with pytest.raises(Stopped, match=f"process {other.pid} on "):
            reached(stopped)
    finally:
        other.kill()
        other.communicate()
    assert RunFolder.open(stopped).writer == ""
    assert reached(stopped) is not None
    with RunFolder.open(stopped) as first:
        first.acquire()
        with pytest.raises(Stopped, match=f"process {os.getpid()} on "):
            RunFolder.open(stopped).acquire()
        assert RunFolder.open(stopped).writer
    assert reached(stopped) is not None


def test_a_finished_run_is_whole_or_damaged(stopped: Path) -> None:
    with RunFolder.open(stopped) as folder:
        folder.acquire()
        folder.restore_latest()
        folder.log_clients(pa.record_batch([[] for _ in CLIENT_SCHEMA], schema=CLIENT_SCHEMA))
        folder.save(Checkpoint(3, {}, {"row": STATES[3]}, {}))
        folder.finish({"accuracy": 0.5, "loss": float("nan")}, Assignment(STATES[3][None], {"a": 0}))
    finished = RunFolder.open(stopped)
    assert finished.is_finished
    assert finished.result() == {"accuracy": 0.5, "loss": None}
    assert finished.models().row_of("a").tolist() == STATES[3].tolist()
    finished.verify()
    (stopped / "models" / "rows.safetensors").write_bytes(b"")
    with pytest.raises(Damaged, match=r"rows\.safetensors is damaged"):
        finished.verify()
    shutil.rmtree(stopped / "models")
    with pytest.raises(Damaged, match="models"):
        finished.verify()
    with pytest.raises(Damaged, match="the final models are gone"):
        finished.models()
    (stopped / "result.json").write_text("[")
    with pytest.raises(Damaged, match=r"result\.json cannot be read"):
        finished.result()


def failing_at(call: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Every write, sync and rename counts; the given one fails."""
    calls = 0

    def wrap(name: str) -> None:
        real = getattr(os, name)

        def counted(*args: object) -> object:
            nonlocal calls
            calls += 1
            if calls == call:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*args)

        monkeypatch.setattr(f"fedclade.store.durable_files.os.{name}", counted)

    for name in ("fsync", "replace", "rename"):
        wrap(name)
    return lambda: calls


def test_a_failed_write_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever step of saving fails, the folder opens at the round before or at the new one, whole."""
    for call in range(1, 40):
        path = tmp_path / f"run-{call}"
        with RunFolder.create(path, "asked", {}) as folder:
            write(folder, 0)
            write(folder, 1)
            with monkeypatch.context() as broken:
                calls = failing_at(call, broken)
                with suppress(Stopped):
                    write(folder, 2)
                done = calls() < call
        found = reached(path)
        assert found is not None
        assert found.round == 2 if done else found.round in (1, 2)
        assert found.arrays["state.row"].tobytes() == STATES[found.round].tobytes()
        shutil.rmtree(path)
        if done:
            assert call > 5
            return
    pytest.fail("saving never came to its end")


def test_events_are_json_even_if_a_figure_is_not_a_number(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", "", {}) as folder:
        folder.log_event(RoundEvent(round=1, facts={"loss": float("nan"), "name": '<b>"\n'}))
        folder.save(Checkpoint(1, {}, {}, {}))
    (line,) = (tmp_path / "run" / "events.jsonl").read_text().splitlines()
    assert json.loads(line)["facts"] == {"loss": None, "name": '<b>"\n'}


def test_no_other_room_knows_the_names_of_the_files() -> None:
    for path in SOURCES.rglob("*.py"):
        if path.parent.name != "store":
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            assert not {*NAMES.split()} & {node.value for node in nodes if isinstance(node, ast.Constant)}, path
