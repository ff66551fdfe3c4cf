"""Runs for other programs: they read the numbers of the run."""

import csv
import io
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import fedclade as fc
from cli.calling import call, parsed
from fedclade.api import Settings
from fedclade.cli.export import ExportFormat
from fedclade.core import InputError
from fedclade.data import Federation
from fedclade.export import TARGETS, export_run
from fedclade.export import targets as targets_module
from fedclade.export.csv import as_csv, escape_formula
from fedclade.store.events import MissingReply, StartEvent
from fedclade.store.run_folder import RunFolder
from refusals import check_refused


@pytest.fixture(scope="module")
def run(two_groups: Federation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four rounds, evaluated at every second one."""
    out = tmp_path_factory.mktemp("export") / "run"
    plan: Settings = {"rounds": 4, "evaluate_every": 2, "participation": 0.5, "lr": 0.2, "workers": 0}
    fc.train(two_groups, fc.FedAvg(), net="logistic", out=out, **plan)
    return out


def events(run: Path, kind: str) -> dict[int, dict[str, float]]:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return {line["round"]: line for line in lines if line["event"] == kind}


def csv_lines(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(), newline="")))


def test_no_name_is_a_formula() -> None:
    names = ("=1+1", "+x", "-x", "@x", "\tx", "-1.5", "+2", "a=b", "", None, -3)
    lines = as_csv(["a", "b"], [{"a": name, "b": "."} for name in names]).decode().splitlines()
    cells = [line.removesuffix(",.") for line in lines[1:]]
    assert cells == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "-1.5", "+2", "a=b", "", "", "-3"]
    assert escape_formula("\rx") == "'\rx"


def test_csv(run: Path, tmp_path: Path) -> None:
    written = export_run(run, "csv", tmp_path / "out")
    assert [path.name for path in written] == ["rounds.csv", "clients.csv"]
    rounds, clients = (csv_lines(path) for path in written)
    assert [line["round"] for line in rounds] == ["0", "1", "2", "3", "4"]
    assert [line["accuracy"] != "" for line in rounds] == [False, False, True, False, True]
    evaluations, played = events(run, "evaluation"), events(run, "round")
    for number in (2, 4):
        for name in ("accuracy", "worst_tenth", "loss", "group_count"):
            assert float(rounds[number][name]) == evaluations[number][name]
        assert int(rounds[number]["bytes_up"]) == played[number]["bytes_up"]
        assert int(rounds[number]["took_part"]) == 3  # half of six
    table = RunFolder.open(run).clients().to_pylist()
    assert len(clients) == len(table) == 3 + 6 + 3 + 6  # the asked clients, and all where it was evaluated
    for line, known in zip(clients, table, strict=True):
        assert line["client"] == known["client"]
        assert (float(line["accuracy"]) if line["accuracy"] else None) == known["accuracy"]


def test_a_run_that_is_not_finished(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", "[run]\nrounds = 3", {}) as folder:
        folder.log_event(StartEvent(bytes_up=5, bytes_down=0, took_part=0, silent=(MissingReply("a", "train"),)))
    export_run(tmp_path / "run", "csv")
    lines = (tmp_path / "run" / "csv" / "rounds.csv").read_text().splitlines()
    assert lines[1].startswith("0,")
    assert lines[1].split(",")[2:7] == ["5", "0", "0", "0", "1"]
    clients = (tmp_path / "run" / "csv" / "clients.csv").read_text()
    assert clients == "round,client,accuracy,loss,group,bytes,took_part,metric,metric_error,examples\n"


def test_tensorboard(run: Path, tmp_path: Path) -> None:
    """Read back by another reader than the one that wrote it: the records and messages of the event file."""
    pytest.importorskip("tensorboardX")
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
    evaluations = events(run, "evaluation")
    assert {step for tag, step in found if tag == "accuracy"} == {2, 4}
    for number in (2, 4):
        for name in ("accuracy", "worst_tenth", "loss"):
            assert found[name, number] == pytest.approx(evaluations[number][name], abs=1e-6)
    assert {step for tag, step in found if tag == "bytes_up"} == {0, 1, 2, 3, 4}
    assert histograms == {2: 6.0, 4: 6.0}
    check_refused("the folder is taken", export_run, run, "tensorboard", tmp_path / "out")


LOOK = """
import socket, sys
def refuse(*_):
    raise AssertionError("a message to another machine")
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
except ValueError as error:
    assert "the run is there already" in str(error), error
else:
    raise AssertionError("twice the same run")
[second] = export_run(Path(sys.argv[3]), "mlflow", out)
of_polars = {"_RJEM_MALLOC_CONF": ""}  # MLflow loads it where it is installed
assert {**os.environ, **of_polars} == {**before, **of_polars}
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
    lines = [line.split() for line in (stored / "metrics" / "accuracy").read_text().splitlines()]
    known = {round_: event["accuracy"] for round_, event in events(run, "evaluation").items()}
    assert {int(step): float(value) for _, value, step in lines} == known
    assert (stored / "params" / "local.lr").read_text() == "0.2"
    assert (stored / "params" / "method.name").read_text() == "fedavg"


def test_mlflow_does_not_write_among_other_files(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    (tmp_path / "mine").write_text("x")
    check_refused("the folder is not one of MLflow's", export_run, run, "mlflow", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("to", ["tensorboard", "mlflow"])
def test_a_missing_extra_is_told(to: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets_module, "find_spec", lambda _: None)
    with pytest.raises(InputError) as caught:
        export_run(run, to)
    said = f'not installed, --to {to}: need the extra that brings it; do: pip install "fedclade[track]"'
    assert str(caught.value) == f"{TARGETS[to].package} is {said}"


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
    assert {each.value for each in ExportFormat} == set(TARGETS)
