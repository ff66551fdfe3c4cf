"""Flower's own simulation on Ray: every method comes to the same models as in this process."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import torch

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from conformance.every_verb import EveryVerb
from e2e.fleet import wait_until
from fedclade.core import InputError, Stopped
from fedclade.methods import METHODS, register
from fedclade.runs.experiment import read_experiment
from fedclade.runs.loop import RunProgress
from fedclade.runs.run import start
from fedclade.testing.checks import without_time

register("every-verb", EveryVerb, finds_groups=True)
FEDCLADE = Path(sys.executable).with_name("fedclade")
EXPERIMENT = """
[data]
source = "digits"
world = "label-permutation"
clients = 6
groups = 2
[data.newcomers]
rounds = [2]
[data.drift]
round = 3
[net]
name = "logistic"
[local]
lr = 0.1
[run]
rounds = 3
participation = 0.7
evaluate_every = 1
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_every_method_comes_to_the_same_models(experiment: Path, tmp_path: Path) -> None:
    """With clients that join late and clients whose data change, from weights of a file.

    Over a loopback every method does so in tests/conformance. Ray takes half a minute to start: here it carries one
    that uses every verb, or all of them with FEDCLADE_DEPLOY=all; FedAvg is played below.
    """
    weights = {"1.weight": torch.linspace(-1, 1, 640).reshape(10, 64), "1.bias": torch.zeros(10)}
    torch.save(weights, tmp_path / "weights.pt")
    given = f'run.start_from="{tmp_path / "weights.pt"}"'
    for method in sorted(METHODS) if os.environ.get("FEDCLADE_DEPLOY") == "all" else ("every-verb",):
        change = f"method.name={method}"
        here = start(read_experiment(experiment, [change, given]), out=tmp_path / f"here-{method}")
        there = start(
            read_experiment(experiment, [change, given, "engine.name=flower"]), out=tmp_path / f"there-{method}"
        )
        same, other = dict(here.result), dict(there.result)
        assert without_time({**other, "run": ""}) == without_time({**same, "run": ""}), method


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_run_that_was_stopped_is_resumed_on_the_command_line(experiment: Path, tmp_path: Path) -> None:
    asked = read_experiment(experiment, ["engine.name=flower"])

    def stop(now: RunProgress) -> None:
        if now.round == 1:
            raise KeyboardInterrupt

    with pytest.raises(Stopped, match="fedclade resume"):
        start(asked, out=tmp_path / "there", progress=stop)
    done = subprocess.run(
        [FEDCLADE, "resume", str(tmp_path / "there"), "--json"], capture_output=True, text=True, check=True
    )
    here = start(read_experiment(experiment), out=tmp_path / "here")
    there = json.loads(done.stdout)
    differing = {key for key, value in without_time(here.result).items() if there[key] != value} - {"run"}
    assert differing == set()
    assert done.stderr.count("\n") < 12, done.stderr  # Flower and Ray keep quiet


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_interrupt_while_it_starts_leaves_nothing(experiment: Path, tmp_path: Path) -> None:
    words = [str(FEDCLADE), "run", str(experiment), "--set", "engine.name=flower", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    begun: set[int] = set()

    def ray_starts() -> bool:
        assert process.poll() is None
        begun.update(descendants(process.pid))
        return any(b"gcs_server" in command_of(one) for one in begun)

    wait_until("Ray starts", ray_starts)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "fedclade resume" in said
    wait_until("all of Ray is gone", lambda: not any(command_of(one) for one in begun), 60)


def descendants(process: int) -> set[int]:
    """All processes that this one started, and those that they started."""
    found: set[int] = set()
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # it is gone
            found.update(map(int, thread.read_text().split()))
    return found.union(*map(descendants, found))


def command_of(process: int) -> bytes:
    """The command line of a process, empty when it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def test_a_python_object_cannot_travel(experiment: Path) -> None:
    from fedclade.runs.backend import backend_for

    asked = read_experiment(experiment, ["engine.name=flower"])
    with pytest.raises(InputError, match="cannot see a Python object"):
        backend_for(asked, asked.federation())
