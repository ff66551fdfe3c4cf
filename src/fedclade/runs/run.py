"""Starting a run, resuming it, and what one gets back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fedclade.data import Federation
from fedclade.fleet.simulated import SimulatedFleet
from fedclade.nets import Module, Net, net_for
from fedclade.nouns import ClientId, Damaged, FedcladeError, Groups, InputError, Stopped
from fedclade.runs.environment import environment
from fedclade.runs.experiment import PYTHON, Experiment, read_experiment, rest
from fedclade.runs.folder import Checkpoint, RunFolder, new_name
from fedclade.runs.loop import Judge, Progress, Watch, play, state_class

OwnNet = Callable[[], Module]


def unwatched(_: Progress) -> None:
    """Nobody looks."""


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, and the verdict."""

    path: Path
    result: Mapping[str, object]
    net: Net

    @property
    def accuracy(self) -> float:
        """Unweighted mean over clients of the test accuracy, 0 to 1."""
        return figure(self.result["accuracy"])

    @property
    def worst_tenth(self) -> float:
        """Mean accuracy of the worst tenth of the clients."""
        return figure(self.result["worst_tenth"])

    @property
    def groups(self) -> Groups:
        """Clients that ended with the same model."""
        return self.folder.models().groups()

    @property
    def folder(self) -> RunFolder:
        """The folder, for reading."""
        return RunFolder.open(self.path)

    def model_for(self, client: ClientId) -> Module:
        """This client's model, ready to predict."""
        return self.net.module(self.folder.models().row_of(client))


def figure(value: object) -> float:
    """A figure of a verdict; NaN where nobody answered."""
    return float(value) if isinstance(value, int | float) else float("nan")


def start(
    experiment: Experiment,
    *,
    out: Path | None = None,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    watch: Watch = unwatched,
) -> Run:
    """Run an experiment in a new folder: `out`, or one with a name of its own below `runs/`."""
    held = experiment.federation() if federation is None else federation
    net = the_net(experiment, held, own_net)
    some = held[held.clients[0]].train.inputs
    net.check(some[:1], held.classes)  # before there is a folder
    net.check(some[: shortest_batch(held, experiment.local.batch)], held.classes, training=True)
    state_class(experiment.method)
    path = out or Path("runs") / new_name(experiment.method_name, experiment.source)
    known = {**environment(), "seed": experiment.run.seed, "data_sha256": held.fingerprint, "parameters": net.size}
    with RunFolder.create(path, experiment.toml(), known) as folder:
        return played(experiment, held, net, folder, None, watch)


def resume(
    path: Path,
    *,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    workers: int | None = None,
    repair: bool = False,
    watch: Watch = unwatched,
) -> Run:
    """Continue a run to the same models as if it had never been stopped. A finished one is only checked."""
    folder = RunFolder.open(path)
    with folder:
        folder.hold()
        if folder.finished:
            folder.verify()
        experiment = again(path)
        if workers is not None:
            experiment = replace(experiment, engine=replace(experiment.engine, workers=workers))
        held = experiment.federation() if federation is None else federation
        wanted = str(folder.environment().get("data_sha256"))
        if held.fingerprint != wanted:
            raise InputError(
                "the data are not those that the run was started with",
                where=str(path),
                got=f"SHA-256 {held.fingerprint[:12]}...",
                need=f"{wanted[:12]}...",
            )
        net = the_net(experiment, held, own_net)
        if folder.finished:
            return Run(path.absolute(), folder.result(), net)
        try:
            reached = folder.latest(repair=repair)
        except Stopped as wrong:
            raise can_go_on(wrong, experiment, path) from None
        folder.note("resume", round=reached.round if reached else 0, repaired=repair)
        return played(experiment, held, net, folder, reached, watch)


def shortest_batch(held: Federation, batch: int) -> int:
    """The smallest number of examples that a step of training will have: the last of an epoch may be short."""
    sizes = [len(data.train) for data in held.data.values()]
    return min(size % batch or min(size, batch) for size in sizes)


def again(path: Path) -> Experiment:
    """The experiment of a run that is resumed."""
    try:
        return read_experiment(path / "experiment.toml")
    except InputError as wrong:
        if "not TOML" in wrong.what:
            raise Damaged("experiment.toml is damaged", where=str(path), got=wrong.got, need="it as it was") from None
        own = "a method of your own must be registered first: fedclade.register(name, Class)"
        do = own if wrong.what == "the method is not known" else wrong.do
        raise InputError(wrong.what, where=wrong.where, got=wrong.got, need=wrong.need, do=do) from None


def the_net(experiment: Experiment, held: Federation, own_net: OwnNet | None) -> Net:
    """The net of an experiment, by name or given in Python."""
    name = str(experiment.net["name"])
    if name == PYTHON and own_net is None:
        raise InputError(
            "this run's net was given in Python",
            where="net.name",
            need="the same function",
            do="give it in Python: fedclade.resume(run, net=...)",
        )
    return net_for(own_net or name, held.shape, held.classes, rest(experiment.net, "name"))


def played(
    experiment: Experiment, held: Federation, net: Net, folder: RunFolder, reached: Checkpoint | None, watch: Watch
) -> Run:
    """Play what is left, and write the verdict."""
    try:
        with SimulatedFleet(held, net, workers=experiment.engine.workers) as fleet:
            verdict, models = play(
                experiment.method,
                fleet,
                lambda number: net.first(experiment.run.seed, number),
                experiment.run,
                experiment.local,
                Judge(held.truth_at),
                folder,
                reached,
                watch,
            )
            head = {"run": str(folder.path), "method": experiment.method_name, "seed": experiment.run.seed}
            result = {**head, **verdict}
            folder.finish(result, models)
    except Stopped as wrong:
        raise can_go_on(wrong, experiment, folder.path) from None
    except KeyboardInterrupt:
        raise can_go_on(Stopped("interrupted", where=str(folder.path)), experiment, folder.path) from None
    return Run(folder.path.absolute(), result, net)


def can_go_on(wrong: FedcladeError, experiment: Experiment, path: Path) -> Stopped:
    """The error of a run that stopped, with the way to continue it."""
    given = [
        f"{what}=..."
        for what, name in (("federation", experiment.source), ("net", experiment.net["name"]))
        if name == PYTHON
    ]
    way = f'in Python: fedclade.resume("{path}", {", ".join(given)})' if given else f"fedclade resume {path}"
    return Stopped(wrong.what, where=wrong.where, got=wrong.got, need=wrong.need, do=way)
