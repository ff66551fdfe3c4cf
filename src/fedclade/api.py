"""The Python face of fedclade: train, compare, resume. The same settings as in an experiment's TOML, flat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from os import PathLike
from os import path as os_path
from pathlib import Path
from typing import TypeAlias, TypedDict, Unpack

from fedclade.core import InputError, LocalTraining
from fedclade.core.html import html_table
from fedclade.core.settings import SettingsT, build_settings, names_of, settings_table, unknown_name_error
from fedclade.core.settings_help import list_settings, summary_of
from fedclade.core.text_table import text_table
from fedclade.core.training import (
    SGD,
    Adam,
    AdamW,
    BesideOptimizer,
    ConstantSchedule,
    CosineSchedule,
    StepSchedule,
    local_training,
)
from fedclade.data import Federation, OwnData
from fedclade.data.load import ColumnList, FileOptions, from_frame, load_own
from fedclade.methods import FLT, AnyMethod, FoundGroups, Selection
from fedclade.nets import NETS, Module
from fedclade.nets.own_task import OwnTask
from fedclade.nets.registry import architecture_named
from fedclade.report.comparison import ComparisonRow, compare_runs, comparison_rows
from fedclade.report.html import write_report
from fedclade.report.run_data import read_run
from fedclade.report.summary import Summary, summarise
from fedclade.report.tables import main_table, metric_table
from fedclade.runs import compare as comparing
from fedclade.runs import group_search as finding
from fedclade.runs import run as runs
from fedclade.runs.defaults import NET, array_defaults, local_defaults, own_defaults
from fedclade.runs.divergence import check_divergence
from fedclade.runs.early_stopping import EarlyStopping
from fedclade.runs.experiment import PYTHON, EngineSettings, Experiment, check_selection
from fedclade.runs.loop import ProgressCallback, RunProgress
from fedclade.runs.lr_values import AUTO, with_search
from fedclade.runs.progress_display import watch_runs
from fedclade.runs.run import Run
from fedclade.runs.run_settings import RunSettings
from fedclade.runs.run_text import count_text, rounds_of
from fedclade.runs.start_from import with_start
from fedclade.runs.target import NO_TARGET, MetricTarget
from fedclade.store.files import new_run_name

StartFrom: TypeAlias = Mapping[str, object] | Module | str | PathLike[str] | Run
"""A `state_dict`, a module, the path of a file or of a run's folder, or a run."""
METHOD_FUNCTIONS = ("needs", "start", "round", "assignment", "place")  # that every method has


class Settings(TypedDict, total=False):
    """Settings of a run; one that is left out has the default of the experiment's TOML."""

    rounds: int
    participation: float
    evaluate_every: int
    seed: int
    early_stopping: EarlyStopping | Mapping[str, object] | bool | None
    epochs: int
    steps: int
    steps_from: str
    batch: int
    lr: float | str | Sequence[float]
    optimizer: str | SGD | Adam | AdamW | Mapping[str, object]
    momentum: float
    weight_decay: float
    schedule: str | ConstantSchedule | CosineSchedule | StepSchedule | Mapping[str, object]
    clip_norm: float
    class_weights: str | Sequence[float]
    blind: bool
    selection: str
    check_in: int | str
    network: str
    workers: int
    path: str
    device: str


SETTINGS = (RunSettings, LocalTraining, BesideOptimizer, Selection, EngineSettings)
"""The classes of the settings that `train` takes flat."""
SETTINGS_TITLE = "Settings, which are keywords, with their defaults (your own tables and images have others):"


@list_settings(SETTINGS_TITLE, *SETTINGS, without=["name", "start_from"])
def train(
    federation: Federation,
    method: AnyMethod,
    *,
    net: str | Callable[[], Module] = "mlp",
    net_settings: Mapping[str, object] | None = None,
    start_from: StartFrom | None = None,
    task: OwnTask | None = None,
    out: str | Path | None = None,
    progress: bool = False,
    callback: ProgressCallback | None = None,
    **settings: Unpack[Settings],
) -> Run:
    """Train one method on a federation. If training diverges, the folder is complete and `Diverged` is raised.

    federation      what `fc.data.from_frame`, `from_file`, `from_folder`, `from_arrays` or `build` gives
    method          such as `fc.FedAvg()` or `fc.FLT(groups=4)`; `help(fc.FLT)` lists its settings
    net             the name of a net (see `fedclade models`), or a function that returns a `torch.nn.Module`
    net_settings    settings of a net with a name, see below: `{"hidden": 100}`
    start_from      the weights to start from: a `state_dict` or a module; a file (.safetensors, .pt, .pth or .npz); a
                    run or its folder, whose model is taken, of several the mean over its clients; None: random ones
    task            an `fc.OwnTask`: a loss of your own, in the place of what the federation's labels say is learned
    out             the folder of the run; without it a new one below `runs/`
    progress        show how far it is: one line that is rewritten; where that cannot be, at most ten lines
    callback        called with a `fc.RunProgress` after every round. What it raises ends the run and is raised here;
                    `fc.resume` goes on behind that round
    """
    federation = with_task(federation, task)
    experiment = with_start(make_experiment(federation, method, net, net_settings, settings), start_from)
    folder = None if out is None else Path(out)
    with watch_runs(progress, callback) as callback_for:
        watch = callback_for(experiment.method_name)
        run = runs.start(experiment, out=folder, federation=federation, own_net=own_net(net), progress=watch)
    check_divergence([run.result])
    return run


def resume(
    path: str | Path,
    *,
    federation: Federation | None = None,
    net: Callable[[], Module] | None = None,
    task: OwnTask | None = None,
    workers: int | None = None,
    repair: bool = False,
    progress: bool = False,
    callback: ProgressCallback | None = None,
) -> Run:
    """Continue a run that was stopped, to the same models; check one that is finished.

    path          the folder of the run
    federation    the same federation, if it was given in Python
    net           the same function, if the net was given in Python
    task          the same functions, if the task was given in Python
    workers       other processes than before; the result does not depend on it
    repair        pass over a damaged last checkpoint, lost facts or another path of training, and go on
    progress      as in `fc.train`, and likewise `callback`
    """
    if federation is not None:
        federation = with_task(federation, task)
    folder = Path(path)
    with watch_runs(progress, callback) as callback_for:
        watch = callback_for(folder.name)
        run = runs.resume(folder, federation=federation, own_net=net, workers=workers, repair=repair, progress=watch)
    check_divergence([run.result])
    return run


@dataclass(frozen=True)
class Comparison:
    """Several methods on the same federation, over several seeds."""

    runs: tuple[Run, ...]
    target: MetricTarget = NO_TARGET
    """What was looked for, if anything."""

    @property
    def lines(self) -> tuple[ComparisonRow, ...]:
        """The table: one line for each method."""
        return compare_runs([run.folder for run in self.runs], self.target)

    @property
    def verdict(self) -> str:
        """Which method is best, by a paired test over clients, in a sentence."""
        return self._summary.sentence

    @property
    def best(self) -> str | None:
        """The method that is clearly best; None where several are within noise."""
        return self._summary.verdict.best

    @property
    def warnings(self) -> list[str]:
        """What a reader of the numbers must know, with the runs that it is of."""
        return self._summary.warning_texts()

    @property
    def _summary(self) -> Summary:
        read = [read_run(run.folder) for run in self.runs]
        return summarise(read, comparison_rows(read, self.target))

    def __repr__(self) -> str:
        methods = ", ".join(dict.fromkeys(str(run.result.get("method")) for run in self.runs))
        return f"Comparison({methods}: {self._runs_text()})"

    def __str__(self) -> str:
        lines, summary = self.lines, self._summary
        tables = [main_table(lines, with_target=self.target.target is not None), metric_table(lines)]
        shown = [text_table(table.headings, table.rows) for table in tables if len(table.headings) > 1]
        warned = [f"Warning: {text}" for text in summary.warning_texts()]
        return "\n".join([*shown, summary.sentence, *warned, self._runs_text()])

    def _repr_html_(self) -> str:
        """The table, for a notebook."""
        table = main_table(self.lines, with_target=self.target.target is not None)
        return html_table(self._runs_text(), table.headings, table.rows)

    def _runs_text(self) -> str:
        rounds = " or ".join(dict.fromkeys(count_text(rounds_of(run.result), "round") for run in self.runs))
        folder = os_path.commonpath([run.path.parent for run in self.runs])
        return f"{count_text(len(self.runs), 'run')} of {rounds} in {folder}"

    def report(self, path: str | Path) -> Path:
        """Write one HTML file that works offline."""
        return write_report([run.folder for run in self.runs], Path(path), self.target)


@list_settings(SETTINGS_TITLE, *SETTINGS, without=["name", "start_from"])
def compare(
    federation: Federation,
    methods: Sequence[AnyMethod],
    *,
    seeds: int = 1,
    net: str | Callable[[], Module] = "mlp",
    net_settings: Mapping[str, object] | None = None,
    start_from: StartFrom | None = None,
    task: OwnTask | None = None,
    out: str | Path | None = None,
    jobs: int = 1,
    target: float | None = None,
    metric: str = "",
    progress: bool = False,
    callback: ProgressCallback | None = None,
    **settings: Unpack[Settings],
) -> Comparison:
    """Train several methods on the same federation, each with several seeds.

    Called again with the same `out` it goes on where it was stopped; own methods must be registered for that. A method
    that is given twice with the same settings is run once. A run that diverges is a line like any other, and says so.

    federation           as in `fc.train`, and likewise `net`, `net_settings`, `start_from` and `task`
    methods              a list of them: `[fc.FLT(), fc.FedAvg(), fc.Local()]`
    seeds                how many seeds each method has, from `seed` on
    out                  the folder of all runs; without it a new one below `runs/`
    jobs                 how many runs there are at once, each in a process of its own
    target               also the rounds and bytes until the metric was so good, in `lines` and in the report
    metric               of the target: one of the task's metrics; by itself the main one
    progress             as in `fc.train`, with a line for each run; where none can be rewritten, when it has ended
    callback             as in `fc.train`; its argument says which run it is of, by `method`, `seed` and `run`
    """
    if seeds < 1 or not methods:
        raise InputError("there is nothing to compare", got=f"{len(methods)} methods, {seeds} seeds", need="1 or more")
    federation, wanted = with_task(federation, task), MetricTarget(target=target, metric=metric)
    folder = Path("runs") / new_run_name("compare", PYTHON) if out is None else Path(out)
    different = [method for number, method in enumerate(methods) if method not in methods[:number]]
    experiments = [
        with_start(make_experiment(federation, method, net, net_settings, settings), start_from) for method in different
    ]
    first = experiments[0].run.seed
    plans = {
        folder / f"{plan.method_name}-{number}-seed{seed}": plan.with_seed(seed)
        for seed in range(first, first + seeds)
        for number, plan in enumerate(experiments)
    }
    with watch_runs(progress, callback, lines=1) as callback_for:
        title, make = (lambda path: callback_for(path.name)), own_net(net)
        made = comparing.compare(
            plans, federation=federation, own_net=make, jobs=jobs, target=wanted, progress_for=title
        )
        return Comparison(made, wanted)


@list_settings(
    "Options of a table, a file or a folder, with their defaults:",
    OwnData,
    without=["path", "client", "label", "test"],
)
def find_groups(
    data: object,
    method: FLT | None = None,
    *,
    client: str = "",
    label: str | ColumnList = "",
    seed: int = 0,
    workers: int = 0,
    **options: Unpack[FileOptions],
) -> FoundGroups:
    """Which clients belong together: FLT's one-shot step alone. Nothing is trained, and the truth is not read.

    data       a federation; the path of a file or a folder; or a table in memory
    method     `fc.FLT(...)`, with other settings than its defaults
    client     the column of a table that names the client of a row
    label      the column of the label, or a list of columns of flags; without one, features alone are compared
    seed       decides which rows are held out, and all that is drawn
    workers    processes of this machine that play the clients; 0: none but this one

    Of what it returns, `groups` are tuples of ids, `outliers` the clients that are unlike all others, `count` how many
    groups there are and `confidence` how sure that is; behind it stand `squared` (distances), `tree`, `order` and
    `silhouettes`.
    """
    wanted = method or FLT()
    if not isinstance(wanted, FLT):
        raise InputError(
            "this method has no one-shot step",
            where="find_groups",
            got=type(wanted).__name__,
            need="fc.FLT(...)",
            do="train with it: fc.train(federation, method).groups",
        )
    if isinstance(data, Federation):
        if given := [*options, *(name for name, value in (("client", client), ("label", label)) if value)]:
            need = "none: a federation knows its columns"
            raise InputError(f"{given[0]} has no use", where="find_groups", need=need)
        federation = data
    else:
        federation = own_federation(data, client, label, seed, options)
    return finding.find_groups(federation, wanted.find, seed=seed, workers=workers)


def own_federation(data: object, client: str, label: str | ColumnList, seed: int, options: FileOptions) -> Federation:
    """The federation of a path, or of a table in memory."""
    if isinstance(data, str | PathLike):
        return load_own(Path(data), {"client": client, "label": label, **options}, seed)
    if not client:
        need = "a federation; or a path or a table, with client=... and label=..."
        raise InputError(
            "this is neither a federation nor a table", where="find_groups", got=type(data).__name__, need=need
        )
    if "resize" in options:
        raise InputError("resize has no use", where="find_groups", got="a table", need="images")
    return from_frame(data, client=client, label=label, seed=seed, **options)  # type: ignore[misc]  # no resize


def make_experiment(
    federation: Federation,
    method: AnyMethod,
    net: str | Callable[[], Module],
    net_settings: Mapping[str, object] | None,
    settings: Settings,
) -> Experiment:
    """The experiment that these flat settings describe."""
    check_federation(federation, where="train")
    check_method(method)
    if net_settings and not isinstance(net, str):
        raise InputError("an own net has no settings", where="train", got="net_settings", need="them in the function")
    known = [name for kind in SETTINGS for name in names_of(kind) if name != "name"]
    for name in settings:
        if name not in known:
            raise unknown_name_error(f"setting {name}", "train", name, known)

    raw = federation.preparation is not None and federation.preparation.is_raw
    kind, task = federation.kind, federation.task.kind
    if federation.task.labels == "number":  # an own loss of numbers has no bound either
        task = "regression"
    clients = len(federation)
    defaults = own_defaults(kind, clients, task=task, raw=raw) if kind else array_defaults(task, clients)
    lr = settings.get("lr")
    given = {name: value for name, value in settings.items() if name != "lr" or lr != AUTO}
    known_values = {**local_defaults(defaults.get("local", {}), given), **defaults.get("run", {}), **given}

    def values_of(*kinds: type) -> dict[str, object]:
        return {name: known_values[name] for kind in kinds for name in names_of(kind) if name in known_values}

    def pick(kind: type[SettingsT]) -> SettingsT:
        return build_settings(kind, values_of(kind), where="train")

    run, engine, selection = pick(RunSettings), pick(EngineSettings), pick(Selection)
    local, lr_values = with_search(values_of(LocalTraining, BesideOptimizer), lr)
    check_selection(selection, settings, method.needs().selects)
    data = {"source": PYTHON, "world": federation.name, "clients": len(federation), **task_table(federation)}
    named: dict[str, object] = {"name": PYTHON}
    if isinstance(net, str):
        own = defaults.get("net", {}) if net == NET else {}
        architecture = build_settings(architecture_named(net), {**own, **(net_settings or {})}, where="net")
        named = {"name": net, **settings_table(architecture)}
    return Experiment(
        data=data,
        net=named,
        local=local_training(local, where="train"),
        lr_values=lr_values,
        method=method,
        run=run,
        engine=engine,
        selection=selection,
    )


for name, architecture in NETS.registered_entries.items():
    if names_of(architecture):
        list_settings(f'`net_settings` of "{name}", with their defaults. {summary_of(architecture)}', architecture)(
            train
        )


def with_task(federation: Federation, task: object) -> Federation:
    """The federation, which learns by this task if there is one."""
    check_federation(federation, where="train")
    if task is None:
        return federation
    if not isinstance(task, OwnTask):
        need, do = (
            "fc.OwnTask(loss, metrics={...})",
            'or say it of the data: fc.data.from_arrays(..., task="regression")',
        )
        raise InputError("the task is not usable", where="task", got=repr(task), need=need, do=do)
    return federation.with_own_task(task)


def task_table(federation: Federation) -> dict[str, object]:
    """What an experiment says of the task; nothing of a classification."""
    kind = federation.task.kind
    return {} if kind == "classification" else {"task": PYTHON if kind == "own" else kind}


def check_federation(federation: object, where: str) -> None:
    """An error unless this is a federation."""
    if not isinstance(federation, Federation):
        need = "what fedclade.data.build or fedclade.data.from_arrays gives"
        raise InputError("this is not a federation", where=where, got=type(federation).__name__, need=need)


def check_method(method: object) -> None:
    """An error unless this is a method: settings with its functions, and not its class or its name."""
    complete = all(hasattr(method, each) for each in METHOD_FUNCTIONS)
    if isinstance(method, type) or not is_dataclass(method) or not complete:
        need = f"an object of a @settings class with {', '.join(METHOD_FUNCTIONS)}"
        do = "for example fedclade.FedAvg()"
        raise InputError("the method is not usable", where="train", got=repr(method), need=need, do=do)


def own_net(net: str | Callable[[], Module]) -> Callable[[], Module] | None:
    """The function that makes the net, if it is the user's own."""
    return None if isinstance(net, str) else net


__all__ = ["Comparison", "Run", "RunProgress", "Settings", "compare", "find_groups", "resume", "train"]
