"""The ServerApp's main over a loopback of Flower: a run starts, goes on in its folder, and ends."""

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from conformance.loopback import Loopback, grid_of
from fedclade.core import Stopped
from fedclade.data import Federation, build
from fedclade.deploy.app import main
from fedclade.runs.experiment import read_experiment
from fedclade.runs.run import start
from fedclade.store.run_folder import RunFolder
from refusals import check_refused

SAME = """
local = {lr = 0.1}
run = {rounds = 4, evaluate_every = 2, participation = 1.0}
"""
EXPERIMENT = f"""
data = {{source = "sites", shape = [1, 8, 8], classes = 10}}
engine = {{name = "flower", clients = 4, wait_seconds = 2}}
{SAME}
"""


@pytest.fixture
def federation() -> Federation:
    return build(source="digits", world="classes", clients=4, groups=2, seed=0)


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT)
    return path


def test_plays_what_a_simulated_run_plays(federation: Federation, experiment: Path, tmp_path: Path) -> None:
    main(experiment, grid_of(federation), {"folder": str(tmp_path / "run")}, None)
    world = 'data = {source = "digits", world = "classes", clients = 4, groups = 2}'
    (tmp_path / "here.toml").write_text(world + SAME)
    here = start(read_experiment(tmp_path / "here.toml"), out=tmp_path / "here")
    there = RunFolder.open(tmp_path / "run").result()
    assert there["model_hash"] == here.result["model_hash"]
    assert there["ari"] is None  # no groups are planted at real sites
    assert there["bytes_down"] == here.result["bytes_down"]


class Fading(Loopback):
    """A grid that is gone after so many messages."""

    def push_messages(self, messages):  # type: ignore[no-untyped-def]  # passes everything on
        if len(self.sent) > 20:
            raise ConnectionError("the SuperLink was killed")
        return super().push_messages(messages)


def test_goes_on_in_the_same_folder(federation: Federation, experiment: Path, tmp_path: Path) -> None:
    main(experiment, grid_of(federation), {"folder": str(tmp_path / "whole")}, None)
    good = grid_of(federation)
    with pytest.raises(ConnectionError):
        main(experiment, Fading(good.nodes, good.registered), {"folder": str(tmp_path / "cut")}, None)
    assert not RunFolder.open(tmp_path / "cut").is_finished
    main(experiment, grid_of(federation), {"folder": str(tmp_path / "cut")}, None)
    whole, cut = (RunFolder.open(tmp_path / name).result() for name in ("whole", "cut"))
    assert cut["model_hash"] == whole["model_hash"]
    main(experiment, grid_of(federation), {"folder": str(tmp_path / "cut")}, None)  # finished: only looked at


def test_changes_of_the_run_config(federation: Federation, experiment: Path, tmp_path: Path) -> None:
    """Another experiment needs another folder; another engine does not."""
    play, folder = partial(main, experiment, grid_of(federation)), str(tmp_path / "run")
    play({"folder": folder, "set": "run.rounds=1 method.name=local"}, None)
    found = RunFolder.open(tmp_path / "run").result()
    assert (found["rounds"], found["method"]) == (1, "local")
    changed = {"folder": folder, "set": "run.rounds=2 method.name=local"}
    check_refused("a run of another experiment", play, changed, None)
    play({"folder": folder, "set": "run.rounds=1 method.name=local engine.train_seconds=5"}, None)


@pytest.mark.slow
def test_mistakes_are_named(federation: Federation, experiment: Path, tmp_path: Path) -> None:
    check_refused("no full path", main, experiment, grid_of(federation), {"folder": "runs/first"}, None)
    with pytest.raises(Stopped, match=r"too few clients came.*got 4, need 5.*flwr run, with the same folder"):
        main(experiment, grid_of(federation), {"folder": str(tmp_path / "r"), "set": "engine.clients=5"}, None)
    here = EXPERIMENT.replace('"sites"', '"digits"').replace("shape = [1, 8, 8], classes = 10", 'world = "iid"')
    experiment.write_text(here)
    config = {"folder": str(tmp_path / "r2")}
    check_refused("has its data at the sites", main, experiment, grid_of(federation), config, None)
