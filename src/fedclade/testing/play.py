"""Playing a method in a folder, with anything on the wire."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import Wire, simulated_fleet, undisturbed
from fedclade.methods import AnyMethod, Selection
from fedclade.nets import Net, net_for
from fedclade.nouns import Assignment, ClientId, LocalTraining
from fedclade.runs.experiment import RunSettings
from fedclade.runs.folder import RunFolder
from fedclade.runs.loop import Judge, Progress, play
from fedclade.testing.wires import Growing

OpenFleet = Callable[[Net], AbstractContextManager[Fleet]]
LOCAL = LocalTraining(epochs=2, batch=24, lr=0.4)
AT_RANDOM = Selection()


class Interrupted(Exception):
    """A run that was stopped after the round it was to be stopped after."""


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
    wire: Wire = undisturbed,
    stop_after: int = 0,
    late: tuple[ClientId, ...] = (),
    fleet: OpenFleet | None = None,
    selection: Selection = AT_RANDOM,
) -> tuple[dict[str, object], Assignment]:
    """The verdict and the models of a run; a folder that is there is resumed."""
    made = net_for(net, federation.shape, federation.classes)

    def watch(now: Progress) -> None:
        if now.round == stop_after:
            raise Interrupted

    there = (path / "experiment.toml").exists()
    plan = RunSettings(rounds=rounds, participation=participation, evaluate_every=2, seed=seed)
    opened = fleet(made) if fleet is not None else growing_fleet(federation, made, late, workers, wire)
    with RunFolder.open(path) if there else RunFolder.create(path, "", {}) as folder, opened as engine:
        if there:
            folder.hold()
        reached = folder.latest() if there else None
        verdict, models = play(
            method,
            selection,
            engine,
            partial(made.first, seed),
            plan,
            LOCAL,
            Judge(federation.truth_at),
            folder,
            reached,
            watch,
        )
        folder.finish({"method": "played", "seed": seed, **verdict}, models)
        return verdict, models


def growing_fleet(federation: Federation, net: Net, late: tuple[ClientId, ...], workers: int, wire: Wire) -> Fleet:
    """A fleet on this machine that some clients join late."""
    fleet = simulated_fleet(federation, net, workers=workers, wire=wire)
    return replace(fleet, transport=Growing(fleet.transport, late))
