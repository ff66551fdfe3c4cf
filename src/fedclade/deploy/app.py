"""The ServerApp of an experiment: what a deployed app runs at the server.

app = server_app(Path(__file__).parent / "experiment.toml")
"""

import hashlib
import json
import logging
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedclade.core import InputError
from fedclade.data.recipe import SITES
from fedclade.fleet import Fleet
from fedclade.fleet.build import fleet_over
from fedclade.fleet.flower import apps
from fedclade.fleet.flower.apps import Grid, ServerApp
from fedclade.fleet.flower.grid import FlowerTransport
from fedclade.fleet.site import ModelSpec, OwnNet
from fedclade.nets import Net
from fedclade.runs.backend import Backend, check_sites, deadlines_of
from fedclade.runs.experiment import Experiment, FlowerSettings, read_experiment
from fedclade.runs.loop import RunProgress
from fedclade.runs.run import Run, resume, start
from fedclade.store.files import EXPERIMENT_FILE

log = logging.getLogger("flwr")  # its handlers are there, and `flwr run --stream` shows what goes to them


def server_app(experiment: Path, net: OwnNet | None = None) -> ServerApp:
    """The ServerApp of an experiment file. Its run-config names the folder: one that is there is continued."""
    return apps.server_app(lambda grid, config: main(experiment, grid, config, net))


def main(path: Path, grid: Grid, config: Mapping[str, object], net: OwnNet | None) -> None:
    """Play a run from its beginning, or from where it was stopped."""
    folder = Path(str(config.get("folder", "")))
    if not folder.is_absolute():
        got = f'"{config.get("folder", "")}"'
        raise InputError("the run folder has no full path", where="run-config", got=got, need="/...")
    changes = shlex.split(str(config.get("set", "")))
    run = start_or_resume(read_experiment(path, changes), grid, folder, net)
    log.info("fedclade: done, accuracy %.3f, model_hash %s", run.accuracy, run.result["model_hash"])


def start_or_resume(experiment: Experiment, grid: Grid, folder: Path, net: OwnNet | None) -> Run:
    """The run in this folder, new or continued."""
    backend = sites_backend(experiment, grid)
    if not (folder / EXPERIMENT_FILE).exists():
        return start(experiment, out=folder, own_net=net, progress=log_progress, backend=backend)
    before = read_experiment(folder / EXPERIMENT_FILE)
    if replace(before, engine=experiment.engine) != experiment:
        got = "other settings in its experiment.toml"
        need = "the same experiment, or a new folder"
        raise InputError("the folder holds a run of another experiment", where=str(folder), got=got, need=need)
    log.info("fedclade: going on in %s", folder)
    return resume(folder, own_net=net, progress=log_progress, backend=backend)


def sites_backend(experiment: Experiment, grid: Grid) -> Backend:
    """Sites that hold their own examples."""
    shape, classes = check_sites(experiment)
    engine = experiment.engine
    assert isinstance(engine, FlowerSettings)  # `sites` need it

    def check(net: Net) -> None:
        net.check(np.zeros((1, *shape), np.float32), classes)

    def fleet(net: Net) -> Fleet:
        spec = ModelSpec(experiment.net, shape, classes)
        transport = FlowerTransport(
            grid, spec, deadlines_of(engine), wait_for=engine.clients, wait_seconds=engine.wait_seconds
        )
        return fleet_over(transport, net, shape, classes)

    form = hashlib.sha256(json.dumps([SITES, shape, classes]).encode()).hexdigest()
    return Backend(shape, classes, form, lambda _: None, check, fleet)


def log_progress(now: RunProgress) -> None:
    """A line for each round in Flower's log."""
    accuracy_text = "" if now.accuracy is None else f", accuracy {now.accuracy:.3f}"
    log.info("fedclade: round %d of %d%s", now.round, now.rounds, accuracy_text)
