"""The list of runs: every state, damaged ones too, and nothing that is not below the folder."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dashboard.making import Written, finished
from fedclade.dashboard import listing, safe_reading
from fedclade.dashboard.listing import Listing, Overview


def listed(folder: Path) -> dict[str, Overview]:
    return {run.name: run for run in Listing(folder).runs().values()}


def test_every_state_is_told(tmp_path: Path) -> None:
    finished(tmp_path / "done")
    running = Written(tmp_path / "group" / "going")
    running.round(1, 0.25)
    stopped = Written(tmp_path / "left")
    stopped.round(1, 0.5, {"a": 0, "b": 0, "c": 1, "d": 1})
    stopped.folder.close()
    runs = listed(tmp_path)
    states = {name: run.state for name, run in runs.items()}
    assert states == {"done": "finished", "group/going": "running", "left": "stopped"}
    assert next(iter(runs)) == "group/going"  # running ones come first
    assert (runs["done"].round, runs["done"].rounds, runs["done"].value) == (3, 3, 0.53)
    going = runs["group/going"]
    assert (going.round, going.percent_done, going.value) == (1, 10, 0.25)
    assert (runs["left"].groups, runs["left"].method, runs["left"].seed) == (2, "flt", 3)
    running.folder.close()
    assert listed(tmp_path)["group/going"].state == "stopped"


def test_a_run_that_another_process_writes_is_running(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom fedclade.store.run_folder import RunFolder\n"
        "folder = RunFolder.create(Path(sys.argv[1]), '[run]\\nrounds = 5', {})\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    command, pipe = [sys.executable, "-c", script, str(tmp_path / "run")], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"held\n"
        runs = Listing(tmp_path)
        assert [run.state for run in runs.runs().values()] == ["running"]
        writer.kill()
        writer.wait()
        assert [runs[key].state for key in runs.runs()] == ["stopped"]  # though no file has changed


@pytest.mark.parametrize(
    ("file", "content"),
    [
        *(("experiment.toml", None), ("environment.json", None), ("events.jsonl", None)),
        *(("experiment.toml", b"[run"), ("experiment.toml", b"\xff"), ("experiment.toml", b"a = " + b"[" * 5000)),
        *(("result.json", b'{"accuracy": 0.'), ("result.json", b"[]"), ("result.json", b"")),
    ],
)
def test_a_damaged_run_is_shown_as_damaged(file: str, content: bytes | None, tmp_path: Path) -> None:
    finished(tmp_path / "bad")
    finished(tmp_path / "good")
    (tmp_path / "bad" / file).unlink()
    if content is not None:
        (tmp_path / "bad" / file).write_bytes(content)
    runs = listed(tmp_path)
    said = f"{file} is missing" if content is None else f"{file} cannot be read"
    assert (runs["bad"].state, runs["bad"].trouble) == ("damaged", said)
    assert runs["good"].state == "finished"


def test_words_in_the_place_of_numbers_are_no_numbers(tmp_path: Path) -> None:
    path = finished(tmp_path / "odd")
    (path / "experiment.toml").write_text('[run]\nrounds = "<b>"\nseed = []\n[method]\nname = {a = 1}')
    (path / "result.json").write_text(json.dumps({"accuracy": "<b>", "group_count": [], "rounds": None}))
    run = listed(tmp_path)["odd"]
    assert (run.rounds, run.round, run.seed, run.percent_done, run.value, run.groups) == (0, 0, 0, 0, None, None)
    assert run.method == '{"a": 1}'


def test_links_lead_nowhere(tmp_path: Path) -> None:
    inside, outside = tmp_path / "runs", tmp_path / "outside"
    inside.mkdir()
    finished(outside / "theirs")
    (inside / "link").symlink_to(outside / "theirs")
    (inside / "folder").symlink_to(outside)
    assert listed(inside) == {}
    mine = finished(inside / "mine")
    (mine / "result.json").unlink()
    (mine / "result.json").symlink_to(outside / "theirs" / "result.json")
    assert listed(inside)["mine"].state == "stopped"


def test_names_of_any_bytes_can_be_shown(tmp_path: Path) -> None:
    assert list(listed(finished(tmp_path / "ok"))) == ["ok"]  # a run in the place of a folder of runs
    os.rename(tmp_path / "ok", os.fsencode(tmp_path) + b"/bad-\xff-name")
    [run] = Listing(tmp_path).runs().values()
    assert run.name == "bad-?-name"
    run.key.encode("ascii")


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished(tmp_path / "one")
    finished(tmp_path / "two")
    monkeypatch.setattr(listing, "SCAN_SECONDS", -1.0)
    runs = Listing(tmp_path)
    before = runs.runs()
    read: list[Path] = []

    def noted(path: Path) -> bytes:
        read.append(path)
        return safe_reading.content(path)

    monkeypatch.setattr(listing, "content", noted)
    assert runs.runs() == before
    assert read == []
    result = tmp_path / "one" / "result.json"
    changed = json.loads(result.read_text())
    result.write_text(json.dumps({**changed, "accuracy": 0.99}))
    os.utime(result, (time.time() + 5, time.time() + 5))
    assert {run.name: run.value for run in runs.runs().values()} == {"one": 0.99, "two": 0.53}
    assert {path.parent.name for path in read} == {"one"}


def test_runs_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "SCAN_SECONDS", -1.0)
    runs = Listing(tmp_path)
    assert runs.runs() == {}
    finished(tmp_path / "new")
    [key] = runs.runs()
    (tmp_path / "new").rename(tmp_path / "old")
    assert [run.name for run in runs.runs().values()] == ["old"]
    with pytest.raises(KeyError):
        runs[key]
    for file in (tmp_path / "old").iterdir():
        if file.is_file():
            file.unlink()
    finished(tmp_path / "old" / "inner")
    assert runs.runs() == {}  # what it was is forgotten
    assert [run.name for run in runs.runs().values()] == ["old/inner"]
