"""Playing a method in a folder, with anything on the wire."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from fedclade.data import Federation
from fedclade.fleet.protocol import Means, Reply, Updates
from fedclade.fleet.simulated import SimulatedFleet, Wire, undisturbed
from fedclade.methods import AnyMethod, Selection
from fedclade.nets import Net, net_for
from fedclade.nouns import Assignment, ClientId, LocalTraining, Round, Row
from fedclade.runs.experiment import RunSettings
from fedclade.runs.folder import RunFolder
from fedclade.runs.loop import Engine, Judge, Progress, play

Fleet = Callable[[Net], AbstractContextManager[Engine]]
LOCAL = LocalTraining(epochs=2, batch=24, lr=0.4)
AT_RANDOM = Selection()


class Stop(Exception):
    """Somebody pulled the plug."""


def played(
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
    fleet: Fleet | None = None,
    selection: Selection = AT_RANDOM,
) -> tuple[dict[str, object], Assignment]:
    """The verdict and the models of a run; a folder that is there is resumed."""
    made = net_for(net, federation.shape, federation.classes)

    def watch(now: Progress) -> None:
        if now.round == stop_after:
            raise Stop

    there = (path / "experiment.toml").exists()
    plan = RunSettings(rounds=rounds, participation=participation, evaluate_every=2, seed=seed)
    growing = Growing(federation, made, workers=workers, wire=wire)
    growing.late = late
    opened = fleet(made) if fleet is not None else growing
    with RunFolder.open(path) if there else RunFolder.create(path, "", {}) as folder, growing, opened as engine:
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


class Growing(SimulatedFleet):
    """A fleet that some clients join after its first round of training."""

    late: tuple[ClientId, ...] = ()
    trained = False

    def clients(self) -> tuple[ClientId, ...]:
        return tuple(client for client in super().clients() if self.trained or client not in self.late)

    def train(self, starts: Assignment, now: Round, towards: Row | None = None) -> Updates:
        self.trained = True
        return super().train(starts, now, towards)

    def train_mean(self, starts: Assignment, now: Round, encoder: str = "") -> Means:
        self.trained = True
        return super().train_mean(starts, now, encoder)


def losing(*clients: ClientId) -> Wire:
    """A wire on which nothing of these clients arrives."""
    return lambda replies: (reply for reply in replies if reply.client not in clients)


def backwards(replies: Iterator[Reply]) -> Iterable[Reply]:
    """A wire that hands the last reply over first."""
    return reversed(list(replies))


def lying(client: ClientId, lie: Callable[[Reply], Reply]) -> Wire:
    """A wire on which one client's replies are changed."""
    return lambda replies: (lie(reply) if reply.client == client else reply for reply in replies)
