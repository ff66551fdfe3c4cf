"""A real `kill -9` at random moments, and `fedclade resume`: the same models as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from e2e.commands import FORKS, command

FEDCLADE = Path(sys.executable).with_name("fedclade")
EXPERIMENT = """
[data]
source = "digits"
world = "label-permutation"
clients = 12
groups = 3
[local]
lr = 0.1
[run]
rounds = 80
participation = 0.5
evaluate_every = 4
seed = 11
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT)
    return path


def fedclade(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FEDCLADE, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)


def begun(*words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([FEDCLADE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Forked:
    """The same command in a process that begins at once, and behaves as those of `subprocess` do."""

    def __init__(self, *words: object) -> None:
        self._process = FORKS.Process(target=command, args=tuple(map(str, words)))
        self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode


def rounds_on_disk(run: Path) -> int:
    names = [path.name for path in (run / "checkpoint").glob("round-*")]
    return max((int(name.removeprefix("round-")) for name in names), default=-1)


def wait_for(run: Path, rounds: int, process: subprocess.Popen[bytes] | subprocess.Popen[str] | Forked) -> None:
    """Wait until so many rounds are on disk, or the process has ended."""
    while process.poll() is None and rounds_on_disk(run) < rounds:
        time.sleep(0.005)


def wait_for_changes(run: Path, changes: int, process: subprocess.Popen[bytes] | Forked) -> None:
    """Wait until the files of a run were seen to change so many times: a file more or less, or another size."""
    before = sizes(run)
    while process.poll() is None and changes:
        now = sizes(run)
        changes, before = changes - (now != before), now


def sizes(run: Path) -> dict[str, int]:
    found = {}
    for folder, _, files in os.walk(run):
        for name in files:
            with suppress(FileNotFoundError):  # it was renamed meanwhile
                found[f"{folder}/{name}"] = os.stat(f"{folder}/{name}").st_size
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("method", "wanted_kills", "start"), [("fedavg", 20, Forked), ("local", 5, begun)], ids=["fedavg", "local"]
)
def test_killed_anywhere_resumes_to_the_same_models(
    method: str,
    wanted_kills: int,
    start: Callable[..., subprocess.Popen[bytes] | Forked],
    experiment: Path,
    tmp_path: Path,
) -> None:
    asked = (experiment, "--set", f"method.name={method}", "--set", f"run.rounds={12 * wanted_kills}")
    whole = fedclade("run", *asked, "--set", "engine.workers=1", "--out", tmp_path / "whole", "--json")
    assert whole.returncode == 0, whole.stderr
    wanted = json.loads(whole.stdout)
    run = tmp_path / "killed"
    moment = random.Random(method)
    kills = 0
    while kills < wanted_kills:
        words = ("resume", run) if (run / "experiment.toml").exists() else ("run", *asked, "--out", run)
        process = start(*words)
        # Somewhere in one of the next rounds: before, after or in the middle of any of its writing.
        wait_for(run, rounds_on_disk(run) + 1, process)
        wait_for_changes(run, moment.randint(0, 9), process)
        assert process.poll() is None, "the run ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    resumed = fedclade("resume", run, "--json")
    assert resumed.returncode == 0, resumed.stderr
    found = json.loads(resumed.stdout)
    assert kills == wanted_kills
    for name in ("model_hash", "accuracy", "loss", "bytes_up", "bytes_down", "groups", "accuracy_by_planted_group"):
        assert found[name] == wanted[name], name
    assert events(run) == events(tmp_path / "whole")
    assert list(run.rglob("*.new")) == []


def events(run: Path) -> list[dict[str, object]]:
    """The facts, without the time they were noted at and without the resumes."""
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [
        {name: fact for name, fact in line.items() if name != "time"} for line in lines if line["event"] != "resume"
    ]


@pytest.mark.slow
def test_workers_go_when_the_server_is_killed(experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = begun("run", experiment, "--set", "run.rounds=10000", "--out", run)
    wait_for(run, 2, process)
    workers = children(process.pid)
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(200):
        if not any(Path(f"/proc/{worker}").exists() for worker in workers):
            break
        time.sleep(0.05)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(each) for each in found]


@pytest.mark.slow
@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_polite(request_to_end: signal.Signals, experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(
        [FEDCLADE, "run", experiment, "--set", "run.rounds=10000", "--out", run, "--quiet"],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(run, 2, process)
    process.send_signal(request_to_end)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 3
    assert said == f"error: interrupted, {run}; do: fedclade resume {run}\n"
    assert rounds_on_disk(run) >= 2


@pytest.mark.slow
def test_a_second_writer_is_refused_while_the_first_one_writes(experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = begun("run", experiment, "--set", "run.rounds=10000", "--out", run)
    try:
        wait_for(run, 1, process)
        second = fedclade("run", experiment, "--out", run)
        assert second.returncode == 2
        assert f"process {process.pid} on" in second.stderr
        resumed = fedclade("resume", run)
        assert resumed.returncode == 3
        assert resumed.stderr.startswith("error: the run is being written, ")
        assert f"process {process.pid} on" in resumed.stderr
        listed = json.loads(fedclade("runs", "list", tmp_path, "--json").stdout)["runs"]
        assert [one["state"] for one in listed] == ["running"]
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_loses_nothing(experiment: Path, tmp_path: Path) -> None:
    """A limit on file sizes stands for a full disk: exit 3, and the run can go on when there is room."""
    run = tmp_path / "run"
    limited = "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limited += "from fedclade.cli import main\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)); main()"
    words = ["run", str(experiment), "--set", "net.name=logistic", "--set", "run.evaluate_every=1", "--out", str(run)]
    ran = subprocess.run(
        [sys.executable, "-c", limited, *words, "--quiet"], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 3, ran.stderr
    assert ran.stderr.startswith("error: the run could not be written, ")
    assert f"fedclade resume {run}" in ran.stderr
    assert 1 <= rounds_on_disk(run) < 80
    resumed = fedclade("resume", run, "--json")
    assert resumed.returncode == 0, resumed.stderr
    whole = fedclade(*words[:-1], tmp_path / "whole", "--json")
    assert json.loads(resumed.stdout)["model_hash"] == json.loads(whole.stdout)["model_hash"]


def rounds_below(folder: Path) -> int:
    """How many rounds the runs of a comparison have told of."""
    return sum(path.read_bytes().count(b'"event": "round"') for path in folder.glob("*/events.jsonl"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_comparison_killed_anywhere_goes_on_to_the_same_models(experiment: Path, tmp_path: Path) -> None:
    """The comparison itself is killed, and nothing else: its runs must let go of their folders at once."""
    words = ["compare", experiment, "-m", "fedavg", "-m", "local", "-m", "fedsem:clusters=3", "--seeds", "2"]
    words += ["--set", "run.rounds=20", "--jobs", "2", "--json"]
    whole = fedclade(*words, "--out", tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    moment = random.Random(0)
    for _ in range(4):
        process = begun(*words, "--out", tmp_path / "killed")
        so_far = rounds_below(tmp_path / "killed") + moment.randint(1, 20)
        while process.poll() is None and rounds_below(tmp_path / "killed") < so_far:
            time.sleep(0.005)
        assert process.poll() is None, "the comparison ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    again = fedclade(*words, "--out", tmp_path / "killed")
    assert again.returncode == 0, again.stderr
    found, wanted = (
        [(run["method"], run["seed"], run["model_hash"]) for run in json.loads(each.stdout)["runs"]]
        for each in (again, whole)
    )
    assert found == wanted
    assert len(found) == 6
