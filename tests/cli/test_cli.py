"""The commands as a user types them: what they print, the JSON they give, and how they fail."""

import errno
import json
import os
import pty
import re
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from cli.calling import call, error_of, output_of, parsed
from fedclade import __version__
from fedclade.cli.app import code_of
from fedclade.client import is_built
from fedclade.methods import METHODS

EXPERIMENT = """
data = {source = "digits", world = "rotation", clients = 4, groups = 2}
net = {name = "logistic"}
local = {lr = 0.2, batch = 40}
run = {rounds = 3, participation = 0.5, evaluate_every = 1}
engine = {workers = 0}
"""
PROMISED = {"run", "method", "rounds", "accuracy", "accuracy_variance", "worst_tenth", "groups", "ari"}
PROMISED |= {"bytes_up", "bytes_down", "model_hash", "seconds"}


@pytest.fixture(autouse=True)
def experiment(here: Path) -> None:
    (here / "experiment.toml").write_text(EXPERIMENT)


def test_run_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    result = parsed("run experiment.toml --json", capsys)
    assert set(result) >= PROMISED
    assert re.fullmatch(r"runs/\d{4}-\d\d-\d\d-fedavg-digits-[0-9a-f]{4}", str(result["run"]))
    assert re.fullmatch(r"[0-9a-f]{64}", str(result["model_hash"]))
    assert result["rounds"] == 3
    assert result["groups"] == [["client-00", "client-01", "client-02", "client-03"]]


def test_run_tells_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, or quiet, there is no progress."""
    out = output_of("run experiment.toml --out mine --set method.name=local --seed 4", capsys)
    assert "worst tenth" in out
    assert "Run: mine" in out
    assert "Run: other" in output_of("run experiment.toml --out other --quiet", capsys)
    assert "seed = 4" in Path("mine/experiment.toml").read_text()


@pytest.mark.slow
def test_a_terminal_shows_progress() -> None:
    """Rounds, clients, accuracy so far, time left; on a real terminal, where it stays when the run is done."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    words = [sys.executable, "-m", "fedclade", "run", "experiment.toml", "--out", "mine"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as running:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1000):
                shown += part
        os.close(ours)
        assert running.wait() == 0
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "\n").strip().splitlines()[-1]
    assert re.fullmatch(r"fedavg\s+\S+ round 3/3, 4 clients, accuracy \d+\.\d % [\d:-]+", last.strip()), last


def test_the_same_seed_gives_the_same_models(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        parsed(f"run experiment.toml --json --set engine.workers={workers} --seed {seed}", capsys)["model_hash"]
        for workers, seed in ((1, 0), (2, 0), (2, 1))
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.slow
def test_compare_prints_a_table_writes_a_report_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    command = "compare experiment.toml -m fedavg -m local --seeds 2 --out both"
    out = output_of(command, capsys)
    assert re.search(r"fedavg +\d+\.\d % ± ", out)
    assert "Report: both/report.html" in out
    before = {path: path.stat().st_mtime_ns for path in Path("both").glob("*/result.json")}
    assert len(before) == 4
    again = parsed(f"{command} --json", capsys)
    assert {path: path.stat().st_mtime_ns for path in Path("both").glob("*/result.json")} == before
    lines = again["methods"]
    assert isinstance(lines, list)
    assert [line["method"] for line in lines] == ["fedavg", "local"]
    assert all(line["harmed"] is not None for line in lines)
    assert "a run of another experiment" in error_of(f"{command} --set local.lr=0.1", capsys)


def test_runs_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    call("run experiment.toml --out runs/one", capsys)
    out = output_of("runs list", capsys)
    assert re.search(r"runs/one +finished +fedavg +3/3 +\d+\.\d %", out)
    runs = parsed("runs list --json", capsys)["runs"]
    assert isinstance(runs, list)
    assert runs[0]["state"] == "finished"
    out = output_of("runs show runs/one", capsys)
    assert "model_hash" in out
    assert 'world = "rotation"' in out
    shown = parsed("runs show runs/one --json", capsys)
    assert shown["result"] == json.loads(Path("runs/one/result.json").read_text())


def test_a_second_run_is_refused_and_resume_of_a_finished_one_checks_it(capsys: pytest.CaptureFixture[str]) -> None:
    first = parsed("run experiment.toml --out mine --json", capsys)
    err = error_of("run experiment.toml --out mine", capsys)
    assert re.match(r"error: the run folder is taken, mine: got .*; do: .*fedclade resume mine", err)
    assert parsed("resume mine --json", capsys) == first
    rows = Path("mine/models/rows.safetensors")
    rows.write_bytes(rows.read_bytes()[:-1] + b"\0")
    assert error_of("resume mine", capsys, code=4).startswith("error: rows.safetensors is damaged, ")


def test_report_of_a_good_run_and_of_a_damaged_one(capsys: pytest.CaptureFixture[str]) -> None:
    call("run experiment.toml --out mine", capsys)
    assert output_of("report mine", capsys) == "Report: mine/report.html\n"
    assert parsed("report mine --out other.html --json", capsys)["report"] == "other.html"
    Path("mine/clients.parquet").write_bytes(b"PAR1")
    assert error_of("report mine", capsys, code=4).startswith("error: clients.parquet is damaged, ")


def test_one_damaged_run_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    call("run experiment.toml --out runs/good", capsys)
    call("run experiment.toml --out runs/torn", capsys)
    with open("runs/torn/events.jsonl", "a") as file:
        file.write("not JSON\n")
    runs = parsed("runs list --json", capsys)["runs"]
    assert isinstance(runs, list)
    assert [(run["run"], run["state"]) for run in runs] == [("runs/good", "finished"), ("runs/torn", "damaged")]
    assert call("resume runs/torn", capsys)[0] == 4
    assert call("resume runs/good", capsys)[0] == 0


@pytest.mark.parametrize("name", ["result.json", "clients.parquet", "experiment.toml", "events.jsonl"])
def test_a_finished_run_that_was_changed_is_damaged(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    call("run experiment.toml --out mine", capsys)
    path = Path("mine") / name
    content = path.read_bytes()
    for broken in (content[:-3], content.replace(b"1", b"2", 1), b""):
        path.write_bytes(broken)
        assert error_of("resume mine", capsys, code=4).startswith(f"error: {name} is damaged, mine/{name}")
    path.unlink()
    assert call("resume mine", capsys)[0] in (2, 4)


def test_runs_of_other_settings_have_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    call("run experiment.toml --out a", capsys)
    call("run experiment.toml --out b --set run.rounds=1 --seed 3", capsys)
    call("run experiment.toml --out c --set run.rounds=1 --seed 4 --set engine.workers=1", capsys)
    call("report a b c --out both.html", capsys)
    text = Path("both.html").read_text()
    assert "<td>fedavg, run.rounds 3</td>" in text
    assert "<td>fedavg, run.rounds 1</td>" in text
    assert text.count("<td>fedavg") == 4  # in both tables


@pytest.mark.parametrize("what", ["methods", "worlds", "models"])
def test_listings(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(f"{what} --json", capsys)
    out = output_of(what, capsys)
    for name, entry in found.items():
        assert isinstance(entry, dict)
        assert entry["summary"].endswith(".")
        assert name in out
    assert output_of(f"{what} --quiet", capsys).split() == list(found)
    assert what != "methods" or list(found) == list(METHODS)


def test_doctor_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed("doctor --json", capsys)
    assert isinstance(found["checks"], dict)
    assert found["checks"]["workers can be forked"]
    assert found["packages"]["fedclade"] == __version__  # type: ignore[index]
    assert found["engine"]["kernel"] == is_built()  # type: ignore[index]
    assert found["engine"]["paths"]["mlp"] == ("kernel" if is_built() else "batched")  # type: ignore[index]
    shown = output_of("doctor", capsys)
    assert "torch" in shown
    assert "net mlp" in shown
    assert output_of("--version", capsys) == f"fedclade {__version__}\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run nowhere.toml", "there is no such experiment, nowhere.toml"),
        ("run experiment.toml --set run.round=3", r'did you mean "rounds"'),
        ("run experiment.toml --set data.groups=9", "groups is not usable.*data.groups: got 9"),
        ("run experiment.toml --out experiment.toml", "the run folder is taken"),
        ("run", "Missing argument.*fedclade run --help"),
        ("run experiment.toml --sed 3", "No such option"),
        ("rnu", "No such command"),
        ("resume nowhere", "there is no run here, nowhere"),
        ("resume .", r"there is no run here, \."),
        ("report nowhere", "there is no run here"),
        ("report . --format svg", "there are no figures to write, --format: got svg"),
        ("runs list nowhere", "there is no such folder"),
        ("compare experiment.toml", "Missing option"),
        ("compare experiment.toml -m fedavg --json --csv", "got --json and --csv, need one of them"),
        ("compare experiment.toml -m nothing", "the method is not known"),
        ("compare experiment.toml -m fedavg --seeds 0", "Invalid value"),
    ],
)
def test_mistakes(command: str, said: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    assert re.match(f"error: .*{said}", error_of(command, capsys))
    assert [path.name for path in here.iterdir()] == ["experiment.toml"]  # nothing was started


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ZeroDivisionError("by zero"), 1, "a bug in fedclade, ZeroDivisionError: by zero; do: run again with --debug"),
        (OSError(errno.ENOSPC, "No space left"), 3, "the disk is full; what was on it is safe; do: make room, then"),
    ],
)
def test_a_bug_says_that_it_is_one_and_a_full_disk_is_none(
    error: Exception, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("fedclade.runs.environment.environment", fail)
    assert error_of("doctor", capsys, code).startswith(f"error: {line}")
    assert code_of(["doctor"], debug=True) == code
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.slow
def test_demo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo shows every method that is registered for it, and finds a report beside its table."""
    from fedclade.cli import run

    short = {**run.DEMO, "run": {"rounds": 2, "participation": 0.5}}
    monkeypatch.setattr(run, "DEMO", short)
    out = output_of("demo --out shown", capsys)
    for name, known in METHODS.items():
        assert (f"\n{name} " in out) == known.demo
    assert "Report: shown/report.html" in out
    assert Path("shown/report.html").is_file()


@pytest.mark.slow
def test_compare_tells_the_way_to_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    command = "compare experiment.toml -m fedavg -m local --seeds 2 --out both"
    found = parsed(f"{command} --target 0.2 --json", capsys)["methods"]
    assert isinstance(found, list)
    for line in found:
        ways = [way(Path(f"both/{line['method']}-seed{seed}"), 0.2) for seed in (0, 1)]
        assert line["reached"] == sum(each is not None for each in ways)
        assert line["target_rounds"] == sum(each[0] for each in ways if each) / line["reached"]
        assert line["target_bytes"] == sum(each[1] for each in ways if each) / line["reached"]
    out = output_of(f"{command} --target 1 --quiet", capsys)
    assert "rounds to target" in out
    assert out.count("never") == 2
    assert "rounds to target" in Path("both/report.html").read_text()
    out = output_of(f"{command} --csv", capsys)
    head, *rows = out.splitlines()
    assert head.startswith("method,runs,rounds,accuracy,")
    assert [row.split(",")[0] for row in rows] == ["fedavg", "local"]
    assert call(f"{command} --target 1.5", capsys)[0] == 2
    found = parsed(f"{command} --metric log_loss --target 99 --json", capsys)["methods"]
    assert [line["target_rounds"] for line in found] == [1, 1]  # type: ignore[attr-defined]  # a list
    code, _, err = call(f"{command} --metric rmse --target 1", capsys)
    assert (code, "need one of accuracy, balanced_accuracy, macro_f1, auc, log_loss, loss" in err) == (2, True)


def way(run: Path, target: float) -> tuple[int, int] | None:
    """The first evaluated round with this accuracy, and the bytes of all rounds until then, from the log."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    reached = [each["round"] for each in events if each["event"] == "evaluation" and each["accuracy"] >= target]
    if not reached:
        return None
    counted = [each for each in events if "bytes_up" in each and each["round"] <= reached[0]]
    return reached[0], sum(each["bytes_up"] + each["bytes_down"] for each in counted)


def test_compare_takes_settings_of_a_method(capsys: pytest.CaptureFixture[str]) -> None:
    command = "compare experiment.toml -m fedsem:clusters=1 -m fedsem:clusters=2 --out both"
    found = parsed(f"{command} --json", capsys)
    assert isinstance(found["methods"], list)
    assert [line["method"] for line in found["methods"]] == ["fedsem, clusters 1", "fedsem, clusters 2"]
    assert Path("both/fedsem-clusters=2-seed0/result.json").exists()
    assert "clusters is not usable" in error_of("compare experiment.toml -m fedsem:clusters=0", capsys)
