"""Starting a run, resuming it, and what one gets back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedclade.data import Federation
from fedclade.data.recipe import SITES
from fedclade.methods import Needs, name_of
from fedclade.nets import Module, Net, net_for
from fedclade.nets.attention_shelf import attending
from fedclade.nets.blind import Blind, secret
from fedclade.nets.ensemble import Ensemble
from fedclade.nets.shelf import opened
from fedclade.nouns import ClientId, Damaged, FedcladeError, Groups, InputError, Row, Rows, Stopped
from fedclade.nouns.html import html_table
from fedclade.nouns.points import tunable
from fedclade.relate.attention import inputs_of
from fedclade.runs.environment import environment
from fedclade.runs.experiment import PYTHON, Experiment, read_experiment, rest
from fedclade.runs.folder import Checkpoint, RunFolder, new_name
from fedclade.runs.loop import Judge, Progress, Watch, play, remembered, state_class
from fedclade.runs.plugins import plugins_of, with_package
from fedclade.runs.venue import Venue, venue_of

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
        return self._modules(self.folder.models().row_of(client)[None])[0]

    def path_for(self, client: ClientId) -> tuple[Module, ...]:
        """The models on this client's path, general to special, of a method that keeps a tree of them."""
        asked = again(self.path)
        path = asked.method.needs().model_path
        if path is None:
            raise InputError(
                "there is no tree of models",
                where=str(self.path),
                got=name_of(asked.method),
                need="a method that keeps several models of a client",
            )
        self.folder.models().row_of(client)  # an error for a client that has none
        reached = self.folder.remembered()
        return self._modules(path(remembered(asked.method, asked.selection, reached)[0], client))

    def ensemble_for(self, client: ClientId) -> Module:
        """All models on this client's path as one, which holds probable what they do on average."""
        return Ensemble(self.path_for(client))

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict."""
        percents = [f"{100 * value:.1f} %" for value in (self.accuracy, self.worst_tenth)]
        ari, groups = self.result.get("ari"), str(self.result.get("group_count"))
        row = [*percents, groups, "-" if ari is None else f"{figure(ari):.2f}", str(self.path)]
        caption = f"{self.result.get('method')}, {self.result.get('rounds')} rounds, seed {self.result.get('seed')}"
        return html_table(caption, ("accuracy", "worst tenth", "groups", "ARI", "run"), [row])

    def _modules(self, rows: Rows) -> tuple[Module, ...]:
        asked = again(self.path)
        plain = Blind(self.net, asked.run.seed, secret()).shown(rows) if asked.local.blind else rows
        return tuple(self.net.module(row) for row in plain)


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
    venue: Venue | None = None,
) -> Run:
    """Run an experiment in a new folder: `out`, or one with a name of its own below `runs/`."""
    place = venue or venue_of(experiment, federation)
    net = the_net(experiment, place, own_net)
    place.check(net)  # before there is a folder
    network = check_needs(experiment, place, net)
    state_class(experiment.method)
    path = out or Path("runs") / new_name(experiment.method_name, experiment.source)
    known = {
        **environment(),
        "seed": experiment.run.seed,
        "data_sha256": place.fingerprint,
        "parameters": net.size,
        "tensors": [] if experiment.local.blind else [str(piece) for piece in net.pieces],
        "path": place.path(net),
        **({"network_sha256": network} if network else {}),
        **({"plugins": used} if (used := plugins_of(experiment)) else {}),
    }
    with RunFolder.create(path, experiment.toml(), known) as folder:
        return played(experiment, place, net, folder, None, watch)


def resume(
    path: Path,
    *,
    federation: Federation | None = None,
    own_net: OwnNet | None = None,
    workers: int | None = None,
    repair: bool = False,
    watch: Watch = unwatched,
    venue: Venue | None = None,
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
        place = venue or venue_of(experiment, federation)
        wanted = str(folder.environment().get("data_sha256"))
        if place.fingerprint != wanted:
            raise InputError(
                "the data are not those that the run was started with",
                where=str(path),
                got=f"SHA-256 {place.fingerprint[:12]}...",
                need=f"{wanted[:12]}...",
            )
        net = the_net(experiment, place, own_net)
        if folder.finished:
            return Run(path.absolute(), folder.result(), net)
        known = str(folder.environment().get("network_sha256", ""))
        if (network := check_network(all_needs(experiment), net)) != known:
            raise InputError(
                "the network is not the one that the run was started with",
                where=str(path),
                got=f"SHA-256 {network[:12]}...",
                need=f"{known[:12]}...",
            )
        before = str(folder.environment().get("path"))
        if not repair and place.path(net) != before:
            raise InputError(
                "this machine trains the net on another path",
                where=str(path),
                got=place.path(net),
                need=f"{before}, for the same models",
                do=f"see fedclade doctor; or go on with other rounding: fedclade resume --repair {path}",
            )
        try:
            reached = folder.latest(repair=repair)
        except Stopped as wrong:
            raise can_go_on(wrong, experiment, path) from None
        folder.note("resume", round=reached.round if reached else 0, repaired=repair)
        return played(experiment, place, net, folder, reached, watch)


def again(path: Path) -> Experiment:
    """The experiment of a run that is resumed."""
    try:
        return read_experiment(path / "experiment.toml")
    except InputError as wrong:
        if "not TOML" in wrong.what:
            raise Damaged("experiment.toml is damaged", where=str(path), got=wrong.got, need="it as it was") from None
        raise with_package(wrong, path) from None


def the_net(experiment: Experiment, place: Venue, own_net: OwnNet | None) -> Net:
    """The net of an experiment, by name or given in Python."""
    name = str(experiment.net["name"])
    if name == PYTHON and own_net is None:
        raise InputError(
            "this run's net was given in Python",
            where="net.name",
            need="the same function",
            do="give it in Python: fedclade.resume(run, net=...)",
        )
    return net_for(own_net or name, place.shape, place.classes, rest(experiment.net, "name"))


def played(
    experiment: Experiment, place: Venue, net: Net, folder: RunFolder, reached: Checkpoint | None, watch: Watch
) -> Run:
    """Play what is left, and write the verdict."""
    try:
        with place.fleet(net) as fleet:
            verdict, models = play(
                experiment.method,
                experiment.selection,
                fleet,
                lambda number: first_of(net, experiment, number),
                experiment.run,
                experiment.local,
                Judge(place.truth_at),
                folder,
                reached,
                watch,
            )
            head = {"run": str(folder.path), "method": experiment.method_name, "seed": experiment.run.seed}
            result = {**head, **verdict, "path": place.path(net)}
            folder.finish(result, models)
    except Stopped as wrong:
        raise can_go_on(wrong, experiment, folder.path) from None
    except KeyboardInterrupt:
        raise can_go_on(Stopped("interrupted", where=str(folder.path)), experiment, folder.path) from None
    return Run(folder.path.absolute(), result, net)


def all_needs(experiment: Experiment) -> tuple[Needs, ...]:
    """What the method needs, and what selection needs beside it."""
    return experiment.method.needs(), experiment.selection.needs()


def check_needs(experiment: Experiment, place: Venue, net: Net) -> str:
    """An error if something is missing that the method needs; the checksum of its attention network, if it has one."""
    needs = all_needs(experiment)
    for each in needs:
        if each.encoder:
            found = opened(each.encoder, place.shape)
            if each.tunes_encoder:
                tunable(found, each.encoder)
        if experiment.local.blind and each.sees:
            raise InputError(
                "this method cannot be blind",
                where="local.blind",
                got=f"{experiment.method_name}: it must see {each.sees}",
                need="a method, or settings of it, for which the order of a model's numbers means nothing",
            )
        each.check(net.layers, experiment.local)
    return check_network(needs, net)


def check_network(needs: Sequence[Needs], net: Net) -> str:
    """The checksum of the attention network that is used, if any; an error if it is not there or not for this net."""
    for wanted in (each.network for each in needs if each.network is not None):
        if not wanted.name:
            raise InputError(
                "a network is needed", where="method.network", need="its file", do="fedclade attention train SOURCE"
            )
        kept = attending(wanted.name, wanted.kind)
        made_for = kept.recipe.get("numbers", inputs_of(kept.weights)) if wanted.kind == "attention" else net.size
        if made_for != net.size:
            raise InputError(
                "the network does not fit the net",
                where="method.network",
                got=f"one for models of {made_for} numbers",
                need=f"{net.size}",
                do="fedclade attention train, with this net",
            )
        return kept.sha256
    return ""


def first_of(net: Net, experiment: Experiment, number: int) -> Row:
    """Initial model number 0, 1, ...; in a blind run how far it is from the one that clients start from."""
    if not experiment.local.blind:
        return net.first(experiment.run.seed, number)
    if number:
        raise InputError("blind clients start from one model", where="local.blind", got="several", need="one")
    return np.zeros(net.size, np.float32)


def can_go_on(wrong: FedcladeError, experiment: Experiment, path: Path) -> Stopped:
    """The error of a run that stopped, with the way to continue it."""
    if experiment.source == SITES:
        way = "flwr run, with the same folder"
        return Stopped(wrong.what, where=wrong.where, got=wrong.got, need=wrong.need, do=way)
    given = [
        f"{what}=..."
        for what, name in (("federation", experiment.source), ("net", experiment.net["name"]))
        if name == PYTHON
    ]
    way = f'in Python: fedclade.resume("{path}", {", ".join(given)})' if given else f"fedclade resume {path}"
    return Stopped(wrong.what, where=wrong.where, got=wrong.got, need=wrong.need, do=way)
