"""The runner of the benchmark against peers, with real programs: one that does the work, and some that fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parents[2] / "benchmarks" / "peers.py"
GOOD = """
from task import Task
task = Task()
assert len(task.train(0)[1]) == 600 and len(task.test()[1]) == 10_000
for number in range(1, task.rounds + 1):
    task.write_round(number, 0.5)
"""
BROKEN = "raise ValueError('the peer does not like this Python')"
SHORT = "from task import Task; Task().write_round(1, 0.5)"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with programs; without data, so that digits are enlarged."""
    for name, text in (("good", GOOD), ("broken", BROKEN), ("short", SHORT)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def run(here: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "FEDCLADE_DATA": str(here), "XDG_CACHE_HOME": str(here)}
    return subprocess.run(
        [sys.executable, str(RUNNER), *words], cwd=here, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_peer_that_fails_is_named_with_its_reason(here: Path) -> None:
    programs = [word for name in ("broken", "short", "good") for word in ("--peer", f"{name}.py")]
    done = run(here, *programs, "--rounds", "2", "--repeats", "1", "--out", "found.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((here / "found.json").read_text())
    assert found["data"].startswith("stand-in")
    broken, short, good = found["peers"]
    assert "ValueError: the peer does not like this Python" in broken["reason"]
    assert "it told of 1 rounds, and not of 1 to 2" in short["reason"]
    assert good["reason"] is None
    assert good["accuracy"] == 0.5
    for name in ("wall", "cpu", "ratio_wall", "ratio_cpu", "ratio_round_wall"):
        assert 0 < good[name] < 1000
    assert found["fedclade"]["accuracy"] > 0.12  # better than any guess: it has learned
    assert found["fedclade"]["cpu"] > 0
    assert "| broken | did not run: exit code 1: ValueError: the peer" in done.stdout
    assert "| good | ? | 50.0 % |" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--peer", "flour"), "there is no peer flour: need one of flower, pfl"),
        (("--rounds", "1"), "need at least 2 rounds"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_work(here: Path, words: tuple[str, ...], said: str) -> None:
    done = run(here, *words)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_a_peer_without_a_python_is_named_with_its_reason(here: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(RUNNER.parent)!r}); import peers\n"
        "try:\n    peers.interpreter((9, 9), [])\nexcept peers.CannotRun as why:\n    print(why)"
    )
    output = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True).stdout
    assert output.strip() == "there is no Python 9.9 or newer here; do: --python PROGRAM"
