"""Playing a method in a folder, with anything on the wire."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from fedclade.core import Assignment, ClientId, LocalTraining
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import Wire, pass_through, simulated_fleet
from fedclade.methods import AnyMethod, Selection
from fedclade.nets import Net, net_for
from fedclade.runs.early_stopping import EarlyStopping
from fedclade.runs.experiment import Experiment
from fedclade.runs.loop import RunProgress, run_rounds
from fedclade.runs.run_settings import RunSettings
from fedclade.store.files import is_run
from fedclade.store.run_folder import RunFolder
from fedclade.testing.wires import AlteredTransport

LOCAL = LocalTraining(epochs=2, batch=24, lr=0.4)
AT_RANDOM = Selection()


class Interrupted(Exception):
    """A run was stopped after the round `stop_after`."""


def play_run(
    method: AnyMethod,
    federation: Federation,
    path: Path,
    *,
    rounds: int = 4,
    participation: float = 0.5,
    seed: int = 0,
    workers: int = 0,
    net: str = "logistic",
    wire: Wire = pass_through,
    stop_after: int = 0,
    late: tuple[ClientId, ...] = (),
    fleet: Callable[[Net], AbstractContextManager[Fleet]] | None = None,
    selection: Selection = AT_RANDOM,
    local: LocalTraining = LOCAL,
    early_stopping: EarlyStopping | None = None,
    lr_values: tuple[float, ...] = (),
) -> tuple[dict[str, object], Assignment]:
    """The verdict and the models of a run; a folder that is there is resumed."""
    made = net_for(net, federation.shape, federation.classes, task=federation.task)

    def watch(now: RunProgress) -> None:
        if now.round == stop_after:
            raise Interrupted

    there = is_run(path)
    plan = RunSettings(
        rounds=rounds, participation=participation, evaluate_every=2, seed=seed, early_stopping=early_stopping
    )
    experiment = Experiment({}, method, local=local, run=plan, selection=selection, lr_values=lr_values)
    if fleet is None:
        here = simulated_fleet(federation, made, workers=workers, wire=wire)
        opened: AbstractContextManager[Fleet] = replace(here, transport=AlteredTransport(here.transport, late=late))
    else:
        opened = fleet(made)
    with RunFolder.open(path) if there else RunFolder.create(path, "", {}) as folder, opened as engine:
        if there:
            folder.acquire()
        reached = folder.restore_latest() if there else None
        first = partial(made.initial_row, seed)
        verdict, models = run_rounds(experiment, engine, first, federation.truth_at, folder, reached, watch)
        folder.finish({"method": "played", "seed": seed, **verdict}, models)
        return verdict, models
