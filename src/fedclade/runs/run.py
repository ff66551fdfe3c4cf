"""Starting and resuming a run, and the run that they return."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fedclade.client import PathFacts, check_class_weights
from fedclade.core import ClientId, Damaged, FedcladeError, Groups, InputError, Row, Rows, Stopped
from fedclade.core.points import require_tunable
from fedclade.data import Federation
from fedclade.data.recipe import SITES
from fedclade.fleet.site import OwnNet
from fedclade.methods import Needs
from fedclade.methods.abc.attention import inputs_of
from fedclade.nets import Module, Net, net_for
from fedclade.nets.attention_files import open_attention
from fedclade.nets.blind import Blind, secret
from fedclade.nets.ensemble import Ensemble
from fedclade.nets.start_weights import StartWeights, encode_start
from fedclade.nets.weight_files import open_encoder
from fedclade.runs import run_text
from fedclade.runs.backend import Backend, backend_for
from fedclade.runs.environment import environment
from fedclade.runs.experiment import PYTHON, Experiment, read_experiment, without_keys
from fedclade.runs.loop import ProgressCallback, RunProgress, run_rounds
from fedclade.runs.method_state import restore_state, state_class
from fedclade.runs.plugins import plugins_of, with_package
from fedclade.runs.start_from import check_start, initial_row, start_weights, stored_start
from fedclade.runs.training_notes import training_notes
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.events import ResumeEvent
from fedclade.store.files import EXPERIMENT_FILE, PREPARATION_FILE, new_run_name
from fedclade.store.run_folder import RunFolder


def ignore_progress(_: RunProgress) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, and the verdict."""

    path: Path
    result: Mapping[str, object]
    net: Net

    @property
    def training_notes(self) -> list[str]:
        """What a user should know of the training: when it ended, and what was chosen."""
        return training_notes(self.result)

    @property
    def notes(self) -> list[str]:
        """What a user should know: what of the data was set aside or left out, and what training started from."""
        found = self.folder.environment().get("notes", [])
        return [str(each) for each in found] if isinstance(found, list) else []

    @property
    def training_path(self) -> PathFacts:
        """How clients trained, and why not faster."""
        return PathFacts(*(str(self.result.get(name, "")) for name in ("path", "path_reason", "device")))

    @property
    def warnings(self) -> list[str]:
        """What a reader of its numbers must know, such as a class that is never predicted."""
        return run_text.warning_texts(self.result)

    @property
    def has_diverged(self) -> bool:
        """Whether training diverged: then its models are of no use."""
        return self.result.get("diverged") is True

    @property
    def accuracy(self) -> float:
        """Unweighted mean over clients of the test accuracy, 0 to 1."""
        return metric_value(self.result["accuracy"])

    @property
    def worst_tenth(self) -> float:
        """Mean accuracy of the worst tenth of the clients."""
        return metric_value(self.result["worst_tenth"])

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
        return self._modules(self.folder.models().row_of(client)[None])[0]

    def path_for(self, client: ClientId) -> tuple[Module, ...]:
        """The models on this client's path, general to special, of a method that keeps a tree of them."""
        asked = read_run_experiment(self.path)
        path = asked.method.needs().model_path
        if path is None:
            need = "a method that keeps several models of a client"
            raise InputError("there is no tree of models", where=str(self.path), got=asked.method_name, need=need)
        self.folder.models().row_of(client)  # an error for a client that has none
        reached = self.folder.last_checkpoint()
        return self._modules(path(restore_state(asked, reached).final_method, client))

    def ensemble_for(self, client: ClientId) -> Module:
        """All models on this client's path as one, which predicts the mean of their probabilities."""
        return Ensemble(self.path_for(client))

    def __repr__(self) -> str:
        return run_text.in_one_line(self.result, self.path)

    def __str__(self) -> str:
        return run_text.in_three_lines(self.result, self.path)

    def _repr_html_(self) -> str:
        """The verdict as a table, for notebooks."""
        return run_text.as_html(self.result, self.path)

    def _modules(self, rows: Rows) -> tuple[Module, ...]:
        asked = read_run_experiment(self.path)
        plain = Blind(self.net, asked.run.seed, secret()).reveal(rows) if asked.local.blind else rows
        return tuple(self.net.module(row) for row in plain)


def metric_value(value: object) -> float:
    """A metric of a verdict; NaN where nobody answered."""
    return float(value) if isinstance(value, int | float) else float("nan")


def start(
    experiment: Experiment,
    *,
    out: Path | None = None,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    progress: ProgressCallback = ignore_progress,
    backend: Backend | None = None,
) -> Run:
    """Run an experiment in a new folder: `out`, or one with a name of its own below `runs/`."""
    place = backend or backend_for(experiment, federation)
    net = build_net(experiment, place, own_net)
    place.check(net)  # before there is a folder
    network = check_needs(experiment, place, net)
    weights = start_weights(experiment)
    row = None if weights is None else weights.row(net)
    content = b"" if row is None else encode_start(row, net)
    notes = [*place.notes, *([f"training starts from {weights.origin}"] if weights else [])]
    state_class(experiment.method)
    path = out or Path("runs") / new_run_name(experiment.method_name, experiment.source)
    known = {
        **environment(),
        "seed": experiment.run.seed,
        "data_sha256": place.fingerprint,
        "parameters": net.size,
        "tensors": [] if experiment.local.blind else [str(piece) for piece in net.pieces],
        **path_entries(place.path(net)),
        **({"network_sha256": network} if network else {}),
        **({"preparation_sha256": sha256(place.preparation)} if place.preparation else {}),
        **({"start_sha256": sha256(content)} if content else {}),
        **({"notes": notes} if notes else {}),
        **({"own_task": functions_of(place)} if place.own_task is not None else {}),
        **({"plugins": used} if (used := plugins_of(experiment)) else {}),
    }
    with RunFolder.create(path, experiment.toml(), known, place.preparation, content) as folder:
        return finish_run(experiment, place, net, row, folder, None, progress)


def resume(
    path: Path,
    *,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    workers: int | None = None,
    repair: bool = False,
    progress: ProgressCallback = ignore_progress,
    backend: Backend | None = None,
    weights: StartWeights | None = None,
) -> Run:
    """Continue a run to the same models as if it had never been stopped. A finished one is only checked.

    `weights`, if they are given, must be those that it was started from.
    """
    folder = RunFolder.open(path)
    with folder:
        folder.acquire()
        if folder.is_finished:
            folder.verify()
        experiment = read_run_experiment(path)
        if workers is not None:
            experiment = replace(experiment, engine=replace(experiment.engine, workers=workers))
        check_own_task_given(experiment, federation)
        place = backend or backend_for(experiment, federation)
        noted = folder.environment()
        if (known := noted.get("own_task", {})) != functions_of(place):
            got, need = str(functions_of(place)), str(known)
            raise InputError("the task is not the one of the run", where=str(path), got=got, need=need)
        check_sha256("the data are not those", path, place.fingerprint, str(noted.get("data_sha256")))
        if "preparation_sha256" in noted:  # a run of an earlier fedclade has none
            check_preparation(path, folder.preparation(), place.preparation, str(noted["preparation_sha256"]))
        net = build_net(experiment, place, own_net)
        row = stored_start(folder, net, str(noted.get("start_sha256", "")))
        if weights is not None:
            given = sha256(encode_start(weights.row(net), net))
            check_sha256("the weights to start from are not those", path, given, str(noted.get("start_sha256", "")))
        if folder.is_finished:
            return Run(path.absolute(), folder.result(), net)
        network = check_network(all_needs(experiment), net)
        check_sha256("the network is not the one", path, network, str(noted.get("network_sha256", "")))
        taken = place.path(net)
        before = PathFacts(str(noted.get("path")), device=str(noted.get("device", "cpu")))
        if not repair and (taken.name, taken.device) != (before.name, before.device):
            raise InputError(
                "this machine trains the net on another path",
                where=str(path),
                got=str(taken),
                need=f"{before}, for the same models",
                do=f"see fedclade doctor; or go on with other rounding: fedclade resume --repair {path}",
            )
        try:
            reached = folder.restore_latest(repair=repair)
        except Stopped as error:
            raise stopped_error(error, experiment, path) from None
        folder.log_event(ResumeEvent(round=reached.round if reached else 0, repaired=repair))
        return finish_run(experiment, place, net, row, folder, reached, progress)


def path_entries(taken: PathFacts) -> dict[str, object]:
    """How clients trained, as a run keeps it."""
    return {"path": taken.name, "path_reason": taken.reason, "device": taken.device}


def check_sha256(what: str, run: Path, got: str, need: str) -> None:
    """An error if something has another checksum than when the run was started."""
    if got != need:
        what = f"{what} that the run was started with"
        do = "bring them back, or start a new run in another folder"
        raise InputError(what, where=str(run), got=f"SHA-256 {got[:12]}...", need=f"{need[:12]}...", do=do)


def functions_of(backend: Backend) -> dict[str, object]:
    """What a run notes of a task of the user's own; nothing where there is none."""
    own = backend.own_task
    return {} if own is None else {"metrics": list(own.metrics), "lower_is_better": list(own.lower_is_better)}


def check_own_task_given(experiment: Experiment, federation: Federation | None) -> None:
    """An error unless a task of the user's own is given where the run has one, and only there."""
    wanted, given = experiment.data.get("task") == PYTHON, federation is not None and federation.own_task is not None
    if wanted and not given:
        do = "give it in Python: fedclade.resume(run, federation=..., task=...)"
        raise InputError("this run's task was given in Python", where="task", need="the same functions", do=do)
    if given and not wanted:
        raise InputError(
            "this run has no task of its own", where="task", got="an OwnTask", need="none", do="leave it out"
        )


def check_preparation(run: Path, stored: bytes, made: bytes, noted: str) -> None:
    """An error unless a run's preparation is what it was, and what its data give now."""
    where = str(run / PREPARATION_FILE)
    if sha256(stored) != noted:
        got, need = f"SHA-256 {sha256(stored)[:12]}...", f"{noted[:12]}..."
        raise Damaged(f"{PREPARATION_FILE} is damaged", where=where, got=got, need=need)
    if stored != made:
        do = "go on with the fedclade that made the run, or start a new one"
        raise InputError("this fedclade prepares the data in another way", where=where, need="the same inputs", do=do)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_run_experiment(path: Path) -> Experiment:
    """The experiment of a run that is resumed."""
    try:
        return read_experiment(path / EXPERIMENT_FILE)
    except InputError as error:
        if "not TOML" in error.what:
            raise Damaged(
                f"{EXPERIMENT_FILE} is damaged", where=str(path), got=error.got, need="it as it was"
            ) from None
        raise with_package(error, path) from None


def build_net(experiment: Experiment, backend: Backend, own_net: OwnNet | None) -> Net:
    """The net of an experiment, by name or given in Python."""
    name = str(experiment.net["name"])
    if name == PYTHON and own_net is None:
        do = "give it in Python: fedclade.resume(run, net=...)"
        raise InputError("this run's net was given in Python", where="net.name", need="the same function", do=do)
    settings = without_keys(experiment.net, "name")
    task, own = backend.task, backend.own_task
    return net_for(own_net or name, backend.shape, task.count, settings, task=task, own_task=own)


def finish_run(
    experiment: Experiment,
    backend: Backend,
    net: Net,
    row: Row | None,
    folder: RunFolder,
    checkpoint: Checkpoint | None,
    progress: ProgressCallback,
) -> Run:
    """Play the rounds that are left, and write the verdict. `row`: the model to start from, if it is not drawn."""
    try:
        with backend.fleet(net) as fleet:
            first = partial(initial_row, net, experiment, row)
            if checkpoint is None:
                fleet.ledger.add_totals(backend.preparation_bytes)
            verdict, models = run_rounds(experiment, fleet, first, backend.truth_at, folder, checkpoint, progress)
            head = {"run": str(folder.path), "method": experiment.method_name, "seed": experiment.run.seed}
            result = {**head, **verdict, **path_entries(backend.path(net))}
            folder.finish(result, models)
    except Stopped as error:
        raise stopped_error(error, experiment, folder.path) from None
    except KeyboardInterrupt:
        raise stopped_error(Stopped("interrupted", where=str(folder.path)), experiment, folder.path) from None
    return Run(folder.path.absolute(), result, net)


def all_needs(experiment: Experiment) -> tuple[Needs, ...]:
    """The needs of the method, and those of selection."""
    return experiment.method.needs(), experiment.selection.needs()


def check_needs(experiment: Experiment, backend: Backend, net: Net) -> str:
    """An error if something is missing that the method needs; the checksum of its attention network, if it has one."""
    needs = all_needs(experiment)
    check_class_weights(experiment.local, net.task)
    check_start(experiment, needs)
    for each in needs:
        if each.encoder:
            found = open_encoder(each.encoder, backend.shape)
            if each.tunes_encoder:
                require_tunable(found, each.encoder)
        if experiment.local.blind and each.sees:
            got = f"{experiment.method_name}: it must see {each.sees}"
            need = "a method, or settings of it, for which the order of a model's numbers means nothing"
            raise InputError("this method cannot be blind", where="local.blind", got=got, need=need)
        if each.all_take_part and experiment.run.participation < 1:
            got, do = f"{experiment.run.participation:g}: {each.all_take_part}", "set run.participation = 1"
            raise InputError("every client must take part", where="run.participation", got=got, need="1", do=do)
        each.check(net.layers, experiment.local)
    return check_network(needs, net)


def check_network(needs: Sequence[Needs], net: Net) -> str:
    """The checksum of the attention network that is used, if any; an error if it is not there or not for this net."""
    for wanted in (each.network for each in needs if each.network is not None):
        kept = open_attention(wanted.name, wanted.kind)
        made_for = kept.recipe.get("numbers", inputs_of(kept.weights)) if wanted.kind == "attention" else net.size
        if made_for != net.size:
            known = f' (net "{kept.recipe["net"]}", source "{kept.recipe["source"]}")' if "net" in kept.recipe else ""
            what, got = "the network does not fit the net", f"one for models of {made_for} numbers{known}"
            own = "" if net.is_custom else f"name the file of: fedclade attention train SOURCE --net {net.name}; or "
            do = f'{own}score by "attention+", which fits any net'
            raise InputError(what, where="method.network", got=got, need=str(net.size), do=do)
        return kept.sha256
    return ""


def stopped_error(error: FedcladeError, experiment: Experiment, path: Path) -> Stopped:
    """The error of a run that stopped, with the way to continue it."""
    objects = {
        "federation=...": experiment.source,
        "net=...": experiment.net["name"],
        "task=...": experiment.data.get("task"),
    }
    given = [argument for argument, name in objects.items() if name == PYTHON]
    way = f'in Python: fedclade.resume("{path}", {", ".join(given)})' if given else f"fedclade resume {path}"
    if experiment.source == SITES:
        way = "flwr run, with the same folder"
    return Stopped(error.what, where=error.where, got=error.got, need=error.need, do=way)
