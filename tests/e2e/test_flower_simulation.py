"""Flower's own simulation on Ray: every method comes to the same models as in this process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from conformance.every_verb import EveryVerb
from conformance.test_methods import without_time
from fedclade.methods import METHODS, register
from fedclade.nouns import InputError
from fedclade.runs.experiment import read_experiment
from fedclade.runs.run import start

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
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("default")  # Ray's own
def test_every_method_comes_to_the_same_models(experiment: Path, tmp_path: Path) -> None:
    """With clients that join late and clients whose data change."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    try:
        for method in sorted(METHODS):
            change = f"method.name={method}"
            here = start(read_experiment(experiment, [change]), out=tmp_path / f"here-{method}")
            there = start(read_experiment(experiment, [change, "engine.name=flower"]), out=tmp_path / f"there-{method}")
            same, other = dict(here.result), dict(there.result)
            assert without_time({**other, "run": ""}) == without_time({**same, "run": ""}), method
    finally:
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_command_line_runs_it_and_resumes_it(experiment: Path, tmp_path: Path) -> None:
    words = ["run", str(experiment), "--set", "engine.name=flower", "--json", "--out"]
    done = subprocess.run([FEDCLADE, *words, str(tmp_path / "a")], capture_output=True, text=True, check=True)
    whole = json.loads(done.stdout)
    here = start(read_experiment(experiment), out=tmp_path / "here")
    assert whole["model_hash"] == here.result["model_hash"]
    assert done.stderr.count("\n") < 12, done.stderr  # Flower and Ray keep quiet


def test_a_python_object_cannot_travel(experiment: Path) -> None:
    from fedclade.runs.venue import venue_of

    asked = read_experiment(experiment, ["engine.name=flower"])
    with pytest.raises(InputError, match="cannot see a Python object"):
        venue_of(asked, asked.federation())
