"""The ServerApp of an experiment: what a deployed app runs at the server.

app = server_app(Path(__file__).parent / "experiment.toml")
"""

import hashlib
import json
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from fedclade.core import Damaged, InputError, Round
from fedclade.core.preparation import Preparation, read_preparation
from fedclade.core.settings import build_settings
from fedclade.core.task import LABEL_FORMS, Task, metric_kind
from fedclade.data.recipe import SITES
from fedclade.data.sites import SiteTables
from fedclade.data.targets import label_columns
from fedclade.fleet import Fleet
from fedclade.fleet.build import fleet_over
from fedclade.fleet.flower import apps
from fedclade.fleet.flower.apps import Grid, ServerApp
from fedclade.fleet.flower.grid import FlowerTransport
from fedclade.fleet.site import ModelSpec, OwnNet
from fedclade.fleet.tables import raw_fleet
from fedclade.nets import Net
from fedclade.preparation import decide_task, fit_preparation
from fedclade.runs.backend import Backend, check_net, check_sites, deadlines_of
from fedclade.runs.divergence import check_divergence
from fedclade.runs.experiment import Experiment, FlowerSettings, read_experiment, without_keys
from fedclade.runs.loop import RunProgress
from fedclade.runs.run import Run, resume, start
from fedclade.runs.run_text import main_metric_texts, value_text
from fedclade.store.files import EXPERIMENT_FILE, PREPARATION_FILE
from fedclade.store.run_folder import RunFolder

TABLES = "the sites' tables"
BytesByVerb: TypeAlias = Mapping[str, tuple[int, int]]
"""Bytes down and up."""
NOTHING = (0, 0)
NO_BYTES: BytesByVerb = {}
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
    run = start_or_resume(path, changes, grid, folder, net)
    label, value, _, _ = main_metric_texts(run.result)
    log.info("fedclade: done, %s %s, model_hash %s", label, value, run.result["model_hash"])
    check_divergence([run.result])


def start_or_resume(path: Path, changes: Sequence[str], grid: Grid, folder: Path, net: OwnNet | None) -> Run:
    """The run of an experiment file in this folder, new or continued."""
    if not (folder / EXPERIMENT_FILE).exists():
        experiment, asked = experiment_of_sites(path, changes, grid)
        backend = sites_backend(experiment, grid, asked=asked)
        return start(experiment, out=folder, own_net=net, progress=log_progress, backend=backend)
    before = read_experiment(folder / EXPERIMENT_FILE)
    experiment = read_experiment(path, changes)
    if experiment.data.get("task") == "auto" and "task" in before.data:  # which task sites have was found out then
        experiment = read_experiment(path, [*changes, f"data.task={before.data['task']}"])
    if replace(before, engine=experiment.engine) != experiment:
        got = "other settings in its experiment.toml"
        need = "the same experiment, or a new folder"
        raise InputError("the folder holds a run of another experiment", where=str(folder), got=got, need=need)
    log.info("fedclade: going on in %s", folder)
    backend = sites_backend(experiment, grid, RunFolder.open(folder).preparation())
    return resume(folder, own_net=net, progress=log_progress, backend=backend)


def experiment_of_sites(path: Path, changes: Sequence[str], grid: Grid) -> tuple[Experiment, BytesByVerb]:
    """An experiment, and what it took to find out what is learned: where the file does not say so, sites are asked."""
    experiment = read_experiment(path, changes)
    if check_sites(experiment) is not None or experiment.data["task"] != "auto" or experiment.data["classes"]:
        return experiment, {}
    tables = tables_of(experiment)
    fleet = raw_fleet(transport_over(experiment, grid)(ModelSpec(experiment.net, (), Task(), tables))).begin(0)
    now = Round(0, experiment.run.seed)
    kind = decide_task(fleet.columns([*fleet.enrolments], now, tell_classes=False), tables.label, TABLES)
    log.info("fedclade: label %s makes a %s", tables.label, kind)
    return read_experiment(path, [*changes, f"data.task={kind}"]), fleet.ledger.totals()


def tables_of(experiment: Experiment) -> SiteTables:
    """What the experiment says of the sites' tables."""
    return build_settings(SiteTables, without_keys(experiment.data, "source"), where="data")


def transport_over(experiment: Experiment, grid: Grid) -> Callable[[ModelSpec], FlowerTransport]:
    """A transport to the sites, for any form of examples."""
    engine = experiment.engine
    assert isinstance(engine, FlowerSettings)  # `sites` need it
    wait_for, wait_seconds, deadlines = engine.clients, engine.wait_seconds, deadlines_of(engine)
    return lambda spec: FlowerTransport(grid, spec, deadlines, wait_for=wait_for, wait_seconds=wait_seconds)


def sites_backend(
    experiment: Experiment, grid: Grid, preparation: bytes = b"", asked: BytesByVerb = NO_BYTES
) -> Backend:
    """Sites that hold their own examples.

    `preparation`: that of the run that goes on, if sites have tables; `asked`: what they were asked before.
    """
    transport = transport_over(experiment, grid)
    form = check_sites(experiment)
    if form is not None:
        return backend_over(transport, ModelSpec(experiment.net, *form))
    tables = tables_of(experiment)
    spent: BytesByVerb = {}
    if not preparation:
        log.info("fedclade: asking sites about their columns")
        preparation, spent = ask_sites(transport, experiment, tables)
        both = {verb: (asked.get(verb, NOTHING), spent.get(verb, NOTHING)) for verb in {**asked, **spent}}
        spent = {verb: (before[0] + then[0], before[1] + then[1]) for verb, (before, then) in both.items()}
    made = parse_preparation(preparation)
    check_net(experiment, (made.width,), made.task)
    spec = ModelSpec(experiment.net, (made.width,), made.task, tables, preparation)
    return replace(backend_over(transport, spec), preparation=preparation, preparation_bytes=spent, notes=made.notes())


def ask_sites(
    transport: Callable[[ModelSpec], FlowerTransport], experiment: Experiment, tables: SiteTables
) -> tuple[bytes, BytesByVerb]:
    """The preparation of the sites' tables, and what it took."""
    kind = "classification" if tables.task == "auto" else tables.task  # its classes are given
    labels = LABEL_FORMS.get(kind, "class")
    names = label_columns(tables.label, ()) if kind == "multi-label" else tables.classes
    task = Task(kind=kind, count=max(len(names), 1), labels=labels, names=names, loss=tables.loss)
    fleet = raw_fleet(transport(ModelSpec(experiment.net, (), Task(), tables))).begin(0)
    made = fit_preparation(
        fleet,
        tables,
        Round(0, experiment.run.seed),
        where=TABLES,
        task=task,
        tell_classes=labels == "class" and not names,
        label=tables.label,
    )
    return made.to_json(), fleet.ledger.totals()


def parse_preparation(text: bytes) -> Preparation:
    """The preparation of the run's file."""
    try:
        return read_preparation(json.loads(text), PREPARATION_FILE)
    except ValueError as error:  # an InputError is one
        what = f"{PREPARATION_FILE} is damaged"
        raise Damaged(what, where=PREPARATION_FILE, got=str(error)[:200], need="it as it was written") from None


def backend_over(transport: Callable[[ModelSpec], FlowerTransport], spec: ModelSpec) -> Backend:
    """The backend of sites whose examples have this form."""

    def check(net: Net) -> None:
        net.check(np.zeros((1, *spec.shape), np.float32), spec.task.count)

    def fleet(net: Net) -> Fleet:
        return fleet_over(transport(spec), net, spec.shape)

    known = [SITES, spec.shape, spec.task.count, *([spec.preparation.decode()] if spec.preparation else [])]
    form = hashlib.sha256(json.dumps(known).encode()).hexdigest()
    return Backend(spec.shape, spec.task, form, lambda _: None, check, fleet)


def log_progress(now: RunProgress) -> None:
    """A line for each round in Flower's log."""
    known = f", {metric_kind(now.metric).label} {value_text(now.metric, now.metrics.get(now.metric))}"
    log.info("fedclade: round %d of %d%s", now.round, now.rounds, known if now.metric else "")
