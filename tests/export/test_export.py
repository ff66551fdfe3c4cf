"""Runs for other programs: what they read is what the run says."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import fedclade as fc
from cli.calling import call, parsed
from fedclade.data import Federation
from fedclade.export import TARGETS, export_run
from fedclade.export import targets as targets_module
from fedclade.export.csv import as_csv, harmless
from fedclade.nouns import InputError
from fedclade.runs.folder import RunFolder


@pytest.fixture(scope="module")
def run(two_groups: Federation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four rounds, evaluated at every second one."""
    out = tmp_path_factory.mktemp("export") / "run"
    fc.train(
        two_groups,
        fc.FedAvg(),
        net="logistic",
        rounds=4,
        evaluate_every=2,
        participation=0.5,
        lr=0.2,
        workers=0,
        out=out,
    )
    return out


def events(run: Path, kind: str) -> dict[int, dict[str, float]]:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return {line["round"]: line for line in lines if line["event"] == kind}


def test_no_name_is_a_formula() -> None:
    names = ("=1+1", "+x", "-x", "@x", "\tx", "-1.5", "+2", "a=b", "", None, -3)
    lines = as_csv(["a", "b"], [{"a": name, "b": "."} for name in names]).decode().splitlines()
    cells = [line.removesuffix(",.") for line in lines[1:]]
    assert cells == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "-1.5", "+2", "a=b", "", "", "-3"]
    assert harmless("\rx") == "'\rx"


def test_csv(run: Path, tmp_path: Path) -> None:
    written = export_run(run, "csv", tmp_path / "out")
    assert [path.name for path in written] == ["rounds.csv", "clients.csv"]
    with open(tmp_path / "out" / "rounds.csv", newline="") as file:
        rounds = list(csv.DictReader(file))
    assert [line["round"] for line in rounds] == ["0", "1", "2", "3", "4"]
    assert [line["accuracy"] != "" for line in rounds] == [False, False, True, False, True]
    judged, played = events(run, "evaluation"), events(run, "round")
    for number in (2, 4):
        for name in ("accuracy", "worst_tenth", "loss", "group_count"):
            assert float(rounds[number][name]) == judged[number][name]
        assert int(rounds[number]["bytes_up"]) == played[number]["bytes_up"]
        assert int(rounds[number]["took_part"]) == 3  # half of six
    with open(tmp_path / "out" / "clients.csv", newline="") as file:
        clients = list(csv.DictReader(file))
    table = RunFolder.open(run).clients().to_pylist()
    assert len(clients) == len(table) == 3 + 6 + 3 + 6  # who was asked, and everybody where it was evaluated
    assert [line["client"] for line in clients] == [line["client"] for line in table]
    assert [float(line["accuracy"]) for line in clients if line["accuracy"]] == [
        line["accuracy"] for line in table if line["accuracy"] is not None
    ]


def test_a_run_that_is_not_finished(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", "[run]\nrounds = 3", {}) as folder:
        folder.note("start", round=0, bytes_up=5, bytes_down=0, took_part=0, refused=[], silent=[{}])
    export_run(tmp_path / "run", "csv")
    lines = (tmp_path / "run" / "csv" / "rounds.csv").read_text().splitlines()
    assert lines[1].startswith("0,")
    assert lines[1].split(",")[2:7] == ["5", "0", "0", "0", "1"]
    assert (
        tmp_path / "run" / "csv" / "clients.csv"
    ).read_text() == "round,client,accuracy,loss,group,bytes,took_part\n"


def test_tensorboard(run: Path, tmp_path: Path) -> None:
    """Read back by another reader than the one that wrote it: the records and messages of the event file."""
    pytest.importorskip("tensorboardX")
    import struct

    from tensorboardX.proto.event_pb2 import Event

    [file] = export_run(run, "tensorboard", tmp_path / "out")
    content, at = file.read_bytes(), 0
    found: dict[tuple[str, int], float] = {}
    histograms: dict[int, float] = {}
    while at < len(content):
        (length,) = struct.unpack("<Q", content[at : at + 8])
        event = Event.FromString(content[at + 12 : at + 12 + length])
        at += 16 + length
        for value in event.summary.value:
            if value.HasField("histo"):
                histograms[event.step] = value.histo.num
            elif value.HasField("simple_value"):
                found[value.tag, event.step] = value.simple_value
    judged = events(run, "evaluation")
    assert {step for tag, step in found if tag == "accuracy"} == {2, 4}
    for number in (2, 4):
        for name in ("accuracy", "worst_tenth", "loss"):
            assert found[name, number] == pytest.approx(judged[number][name], abs=1e-6)
    assert {step for tag, step in found if tag == "bytes_up"} == {0, 1, 2, 3, 4}
    assert histograms == {2: 6.0, 4: 6.0}
    with pytest.raises(InputError, match="the folder is taken"):
        export_run(run, "tensorboard", tmp_path / "out")


LOOK = """
import socket, sys
def refuse(*_):
    raise AssertionError("somebody wants to leave this machine")
socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
import os, threading
before = dict(os.environ)
from pathlib import Path
from fedclade.export import export_run
run, out = Path(sys.argv[1]), Path(sys.argv[2])
out.mkdir()
[first] = export_run(run, "mlflow", out)
try:
    export_run(run, "mlflow", out)
except ValueError as wrong:
    assert "the run is there already" in str(wrong), wrong
else:
    raise AssertionError("twice the same run")
[second] = export_run(Path(sys.argv[3]), "mlflow", out)
assert os.environ == before
assert first.parent == second.parent and first != second
assert [thread.name for thread in threading.enumerate()] == ["MainThread"], threading.enumerate()
print(first)
"""


@pytest.mark.slow
def test_mlflow(run: Path, tmp_path: Path, two_groups: Federation) -> None:
    """In a process that cannot reach anybody. The store's files are MLflow's own: `time value step` in a line."""
    pytest.importorskip("mlflow")
    fc.train(two_groups, fc.Local(), net="logistic", rounds=1, workers=0, out=tmp_path / "other")
    words = [sys.executable, "-c", LOOK, str(run), str(tmp_path / "out"), str(tmp_path / "other")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    stored = Path(done.stdout.splitlines()[-1])
    judged = events(run, "evaluation")
    lines = [line.split() for line in (stored / "metrics" / "accuracy").read_text().splitlines()]
    assert [(float(value), int(step)) for _, value, step in lines] == [(judged[at]["accuracy"], at) for at in (2, 4)]
    assert (stored / "params" / "local.lr").read_text() == "0.2"
    assert (stored / "params" / "method.name").read_text() == "fedavg"


def test_mlflow_does_not_write_among_other_files(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="the folder is not one of MLflow's"):
        export_run(run, "mlflow", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("to", ["tensorboard", "mlflow"])
def test_a_missing_extra_is_told(to: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets_module, "find_spec", lambda _: None)
    with pytest.raises(InputError) as told:
        export_run(run, to)
    package = TARGETS[to].package
    assert str(told.value) == (
        f'{package} is not installed, --to {to}: need the extra that brings it; do: pip install "fedclade[track]"'
    )


def test_the_command(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(f"export {run} --to csv --out {tmp_path}/a --json", capsys)
    assert found["written"] == [f"{tmp_path}/a/rounds.csv", f"{tmp_path}/a/clients.csv"]
    code, out, err = call(f"export {run} --to csv --out {tmp_path}/b", capsys)
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"Written: {tmp_path}/b/rounds.csv", f"Written: {tmp_path}/b/clients.csv"]
    assert call(f"export {run} --to csv --out {tmp_path}/c --quiet", capsys) == (0, "", "")
    assert call("export nowhere --to csv", capsys)[0] == 2
    assert call(f"export {run} --to excel", capsys)[0] == 2
    (tmp_path / "file").write_text("x")
    code, _, err = call(f"export {run} --to csv --out {tmp_path}/file", capsys)
    assert (code, err) == (2, f"error: the export cannot be written, {tmp_path}/file: got a file, need a folder\n")


def test_the_command_knows_every_target() -> None:
    from fedclade.cli.export import To

    assert {each.value for each in To} == set(TARGETS)
