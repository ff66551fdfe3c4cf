"""Runs as a user of Python has them: train, look, resume, and the errors that stop them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.api import Settings, make_experiment
from fedclade.client import PathFacts
from fedclade.core import Assignment, Damaged, InputError, Round, Row, Stopped
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.workers import WorkerFailed
from fedclade.methods import AnyMethod, Facts, First
from fedclade.runs.experiment import read_experiment
from fedclade.runs.loop import RunProgress, model_hash
from fedclade.runs.run import start
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.events import EvaluationEvent, RoundEvent, TrafficEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import Interrupted, play_run
from refusals import check_refused

QUICK: Settings = {"rounds": 2, "participation": 0.5, "evaluate_every": 1, "lr": 0.2, "workers": 0}
FEDAVG = fc.FedAvg()


def train(federation: Federation, out: Path, method: Any = FEDAVG, net: Any = "logistic", **changes: Any) -> fc.Run:
    quick: Any = {**QUICK, **changes}
    return fc.train(federation, method, net=net, out=out, **quick)


def fedavg_that(act: Callable[[], object]) -> fc.FedAvg:
    """FedAvg that does this in every round, and has what it returns for its facts."""

    class Acting(fc.FedAvg):
        def round(self, state, fleet, now):  # type: ignore[no-untyped-def]  # passes everything on
            facts = act()
            return super().round(state, fleet, now)[0], facts if isinstance(facts, dict) else {}

    return Acting()


@pytest.fixture(scope="module")
def local(two_groups: Federation, tmp_path_factory: pytest.TempPathFactory) -> fc.Run:
    """Two rounds, both evaluated, of a model for each client."""
    return train(two_groups, tmp_path_factory.mktemp("local") / "run", fc.Local())


def test_a_run_has_all_its_files_and_its_verdict(local: fc.Run) -> None:
    files = "checkpoint clients.parquet environment.json events.jsonl experiment.toml lock models result.json"
    assert sorted(path.name for path in local.path.iterdir()) == files.split()
    assert local.result == local.folder.result()
    assert 0 <= local.worst_tenth <= local.accuracy <= 1
    assert local.groups == local.folder.models().groups()


def test_models_and_groups_are_those_of_the_table(two_groups: Federation, local: fc.Run) -> None:
    table = local.folder.clients().to_pylist()
    held, last = two_groups["client-02"].test, {line["client"]: line for line in table if line["round"] == 2}
    with torch.no_grad():
        found = local.model_for("client-02")(torch.from_numpy(held.inputs)).argmax(dim=1).numpy()
    assert last["client-02"]["accuracy"] == pytest.approx((found == held.labels).mean())
    assert np.mean([line["accuracy"] for line in last.values()]) == pytest.approx(local.accuracy)
    check_refused('no client "nobody"', local.model_for, "nobody")
    for event in local.folder.events(EvaluationEvent):
        by_group: dict[int, list[float]] = {}
        for line in table:
            if line["round"] == event.round:
                by_group.setdefault(line["group"], []).append(line["accuracy"])
        assert [np.mean(by_group[group]) for group in sorted(by_group)] == pytest.approx(event.accuracy_by_group)


def test_a_large_test_share_is_honest(two_groups: Federation, tmp_path: Path) -> None:
    """More than ten times as many test as training examples: nobody lies."""
    pool = two_groups["client-00"].train
    run = train(fc.data.from_arrays(dict.fromkeys("ab", (pool.inputs, pool.labels)), test=0.95), tmp_path / "run")
    assert 0 <= run.accuracy <= 1
    assert not [event for event in run.folder.events(TrafficEvent) if event.refused]


def test_an_experiment_that_is_changed_while_it_runs_is_found(two_groups: Federation, tmp_path: Path) -> None:
    meddling = fedavg_that(lambda: (tmp_path / "run" / "experiment.toml").write_text("something else"))
    with pytest.raises(Interrupted):
        play_run(meddling, two_groups, tmp_path / "run", stop_after=2)
    with pytest.raises(Damaged, match="is not what the run was started with"):
        play_run(fc.FedAvg(), two_groups, tmp_path / "run")


def test_models_and_their_clients_make_the_hash() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    known = model_hash(Assignment(rows, {"a": 0, "b": 1}))
    assert known == model_hash(Assignment(rows[::-1].copy(), {"a": 1, "b": 0}))  # however the models are kept
    others = [(rows, {"a": 1, "b": 0}), (rows, {"a": 0, "c": 1}), (rows + 1, {"a": 0, "b": 1})]
    assert len({known, *(model_hash(Assignment(*each)) for each in others)}) == 4


@dataclass(frozen=True, eq=False)
class Unsaveable:
    numbers: list[int]
    model: Row


class Forgetful(fc.FedAvg):
    """A method with a state that could not be read back."""

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Unsaveable, Facts]:  # type: ignore[override]  # noqa: ARG002
        return Unsaveable([1, 2], first(0)), {}


def test_a_state_that_cannot_be_read_back_is_refused_at_the_start(two_groups: Federation, tmp_path: Path) -> None:
    check_refused("the state of Forgetful cannot be saved", train, two_groups, tmp_path / "run", Forgetful())


def test_a_method_may_call_its_facts_as_it_likes(two_groups: Federation, tmp_path: Path) -> None:
    facts = {"round": np.int64(3), "event": "x", "refused": np.float32("nan")}
    play_run(fedavg_that(lambda: facts), two_groups, tmp_path / "run")
    events = list(RunFolder.open(tmp_path / "run").events(RoundEvent))
    assert [event.round for event in events] == [1, 2, 3, 4]
    assert events[0].facts == {"round": 3, "event": "x", "refused": None}


def test_clients_that_took_part_are_in_the_table(two_groups: Federation, tmp_path: Path) -> None:
    """The numbers of numpy are numbers."""
    run = train(two_groups, tmp_path / "run", rounds=np.int64(2), seed=np.int64(3), lr=np.float32(0.25))
    assert run.result["seed"] == 3
    lines = run.folder.clients().to_pylist()
    assert [sum(line["took_part"] for line in lines if line["round"] == number) for number in (1, 2)] == [3, 3]
    # Three clients get 650 parameters and send them back with a count and a loss.
    sent: Any = run.result
    assert sum(line["bytes"] for line in lines) == 2 * 3 * (2 * 650 * 4 + 16) == sent["bytes_up"] + sent["bytes_down"]


def train_until(round_: int, federation: Federation, out: Path, net: Any = "logistic") -> None:
    """The power goes before this round is saved."""
    save = RunFolder.save

    def save_until(folder: RunFolder, checkpoint: Checkpoint) -> None:
        if checkpoint.round == round_:
            raise Stopped("the power is gone")
        save(folder, checkpoint)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "save", save_until)
        with pytest.raises(Stopped, match="the power is gone"):
            train(federation, out, net=net)


def test_an_own_net_and_own_data_resume_when_given_again(two_groups: Federation, tmp_path: Path) -> None:
    def net() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))

    whole = train(two_groups, tmp_path / "whole", net=net)
    train_until(2, two_groups, tmp_path / "cut", net)
    check_refused("the data are a Python object", fc.resume, tmp_path / "cut")
    check_refused("net was given in Python", fc.resume, tmp_path / "cut", federation=two_groups)
    other = fc.data.build(source="digits", world="iid", clients=6)
    with pytest.raises(InputError, match="data are not those that the run was started with"):
        fc.resume(tmp_path / "cut", federation=other, net=net)
    resumed = fc.resume(tmp_path / "cut", federation=two_groups, net=net)
    assert resumed.result["model_hash"] == whole.result["model_hash"]


def test_another_path_is_refused(two_groups: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernel that a run was started with, models would differ in their last digits."""
    train_until(0, two_groups, tmp_path / "cut")
    before = RunFolder.open(tmp_path / "cut").environment()["path"]
    monkeypatch.setattr("fedclade.runs.backend.path_facts", lambda *_: PathFacts("another"))
    with pytest.raises(InputError, match=rf"on another path.*got another, need {before}.*--repair"):
        fc.resume(tmp_path / "cut", federation=two_groups)
    assert fc.resume(tmp_path / "cut", federation=two_groups, repair=True).result["rounds"] == 2


def test_a_batch_too_short_for_the_net_is_found_before_the_start(tmp_path: Path) -> None:
    """BatchNorm cannot be trained on one example: 11 of them at batch 10 leave one."""

    def normalised() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))

    inputs = np.random.default_rng(0).random((14, 4))
    federation = fc.data.from_arrays({name: (inputs, np.arange(14) % 2) for name in "ab"}, test=0.2)
    assert len(federation["a"].train) == 11
    with pytest.raises(InputError, match=r"cannot read the inputs.*training on 1 inputs.*another local\.batch"):
        train(federation, tmp_path / "run", net=normalised)
    with pytest.raises(InputError, match="training on 1 inputs"):  # a client that keeps one aside has 10: 9 and 1
        train(federation, tmp_path / "run", fc.CFL(validation=0.1), net=normalised, batch=9)
    assert not (tmp_path / "run").exists()
    assert 0 <= train(federation, tmp_path / "run", net=normalised, batch=11).accuracy <= 1


def test_a_file_that_a_method_misses_is_not_a_full_disk(two_groups: Federation, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        play_run(fedavg_that((tmp_path / "missing").read_text), two_groups, tmp_path / "run")


def test_a_net_that_does_not_fit_is_an_error_before_there_is_a_folder(two_groups: Federation, tmp_path: Path) -> None:
    flat = fc.data.from_arrays({"a": (np.zeros((9, 4)), np.arange(9)), "b": (np.ones((9, 4)), np.arange(9))})
    cases: list[tuple[Federation, object, str]] = [
        (flat, "lenet", "lenet cannot read these inputs"),
        (two_groups, lambda: torch.nn.Linear(9, 10), "net <lambda> cannot read the inputs"),
        (
            two_groups,
            lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3)),
            r"does not fit the classes.*outputs \(1, 3\)",
        ),
        (two_groups, lambda: 3, "does not make a module"),
    ]
    for federation, net, error in cases:
        check_refused(error, train, federation, tmp_path / "run", net=net)
    for method in (fc.FedAvg, "fedavg", None, object()):
        check_refused("the method is not usable", train, two_groups, tmp_path / "run", method)
    assert not (tmp_path / "run").exists()


def test_unknown_settings_are_named(two_groups: Federation) -> None:
    with pytest.raises(InputError, match='did you mean "rounds"'):
        fc.train(two_groups, fc.FedAvg(), round=3)  # type: ignore[call-arg]
    check_refused("lr is not usable", fc.train, two_groups, fc.FedAvg(), lr=-1.0)
    check_refused('did you mean "hidden"', fc.train, two_groups, fc.FedAvg(), net_settings={"hiden": 3})


def test_a_run_that_diverges_is_stopped_with_the_reason(two_groups: Federation, tmp_path: Path) -> None:
    """Every reply is NaN: refused, recorded, and after some rounds the run says so instead of going on for ever."""
    with pytest.raises(fc.Diverged, match="models of 3 of 3 clients with numbers that are not finite") as caught:
        train(two_groups, tmp_path / "run", net="mlp", rounds=20, lr=1e30)
    assert caught.value.exit_code == 3
    refused = [len(event.refused) for event in RunFolder.open(tmp_path / "run").events(RoundEvent)]
    assert refused == [3, 3, 3, 3, 3]


def test_a_bug_in_a_method_is_an_exception(two_groups: Federation, tmp_path: Path) -> None:
    class Broken(torch.nn.Linear):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            assert not self.training or len(inputs) < 10, "cannot be trained"  # a full batch
            return super().forward(inputs.flatten(1))

    with pytest.raises(WorkerFailed, match="cannot be trained"):
        train(two_groups, tmp_path / "run", net=lambda: Broken(64, 10), workers=1)


def test_compare_runs_every_method_with_every_seed(two_groups: Federation, tmp_path: Path) -> None:
    def both() -> fc.Comparison:
        methods: list[AnyMethod] = [fc.FedAvg(), fc.Local()]
        return fc.compare(two_groups, methods, seeds=2, net="logistic", out=tmp_path / "both", **QUICK)

    comparison = both()
    found = [(run.result["method"], run.result["seed"]) for run in comparison.runs]
    assert found == [("fedavg", 0), ("local", 0), ("fedavg", 1), ("local", 1)]
    assert [run.result for run in both().runs] == [run.result for run in comparison.runs]  # nothing was done twice
    fedavg, local = comparison.lines
    assert fedavg.accuracy == pytest.approx(np.mean([run.accuracy for run in comparison.runs[::2]]))
    assert local.accuracy_deviation == pytest.approx(np.std([run.accuracy for run in comparison.runs[1::2]]))
    assert fedavg.harmed is not None
    assert fedavg.harmed + local.harmed <= len(two_groups)  # type: ignore[operator]  # nobody is worse off both ways
    assert comparison.report(tmp_path / "report.html").stat().st_size > 1e6


def test_two_settings_of_a_method_are_two_lines(two_groups: Federation, tmp_path: Path) -> None:
    methods = [fc.FedProx(mu=0.0), fc.FedProx(mu=5.0)]
    both = fc.compare(two_groups, methods, seeds=2, net="logistic", out=tmp_path / "both", **QUICK)
    assert [(line.method, line.runs) for line in both.lines] == [("fedprox, mu 0.0", 2), ("fedprox, mu 5.0", 2)]


def test_seconds_and_bytes_add_up_over_a_resume(two_groups: Federation, tmp_path: Path) -> None:
    whole, _ = play_run(fc.FedAvg(), two_groups, tmp_path / "whole")
    with pytest.raises(Interrupted):
        play_run(fc.FedAvg(), two_groups, tmp_path / "cut", stop_after=2)
    resumed, _ = play_run(fc.FedAvg(), two_groups, tmp_path / "cut")
    assert resumed["bytes_up"] == whole["bytes_up"] == 4 * 3 * (650 * 4 + 16)
    assert resumed["bytes_down_evaluate"] == whole["bytes_down_evaluate"] == 2 * 6 * 650 * 4


def test_shuffled_clients_change_nothing(two_groups: Federation, tmp_path: Path) -> None:
    turned = replace(two_groups, data={client: two_groups[client] for client in reversed(two_groups.clients)})
    as_they_are, _ = play_run(fc.FedAvg(), two_groups, tmp_path / "as they are")
    shuffled, _ = play_run(fc.FedAvg(), turned, tmp_path / "shuffled")
    assert shuffled["model_hash"] == as_they_are["model_hash"]


# -- training settings ------------------------------------------------------------------------------------------------


def test_a_run_keeps_how_it_was_trained_and_why(two_groups: Federation, tmp_path: Path) -> None:
    adam = train(
        two_groups, tmp_path / "adam", optimizer=fc.Adam(betas=(0.5, 0.9)), schedule={"kind": "step", "every": 1}
    )
    kept = {"path": "general", "path_reason": "optimizer adam", "device": "cpu"}
    assert {name: adam.result[name] for name in kept} == kept
    assert {name: adam.folder.environment()[name] for name in kept} == kept
    assert str(adam.training_path) == "general (optimizer adam)"
    asked = read_experiment(adam.path / "experiment.toml")
    assert asked.local.optimizer == fc.Adam(betas=(0.5, 0.9))
    assert asked.local.schedule == fc.StepSchedule(every=1)


def test_a_run_with_everything_resumes_from_its_own_file(two_groups: Federation, tmp_path: Path) -> None:
    """What a resumed run reads is its TOML: it must say all of it."""
    how = {"optimizer": "adamw", "schedule": "cosine", "clip_norm": 0.5, "class_weights": [1.0] * 9 + [2.5]}
    whole = train(two_groups, tmp_path / "whole", rounds=3, lr=0.01, **how)
    with pytest.raises(Interrupted):
        interrupted(two_groups, tmp_path / "cut", rounds=3, lr=0.01, **how)
    resumed = fc.resume(tmp_path / "cut", federation=two_groups)
    assert resumed.result["model_hash"] == whole.result["model_hash"]


def interrupted(federation: Federation, out: Path, **how: Any) -> None:
    """Start such a run, and stop it after its first round."""

    def stop(_: RunProgress) -> None:
        raise Interrupted

    quick: Any = {**QUICK, **how}
    experiment = make_experiment(federation, FEDAVG, "logistic", None, quick)
    start(experiment, out=out, federation=federation, progress=stop)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"class_weights": [1.0, 2.0]}, r"do not fit the classes, local\.class_weights: got 2 numbers, need 10"),
        ({"device": "cuda"}, r"no graphics card.*engine\.device"),
        ({"device": "gpu"}, r"device is not usable"),
        ({"optimizer": "adam", "momentum": 0.5}, r'got "momentum", need one of kind, betas, eps, weight_decay'),
        ({"optimiser": "adam"}, r'did you mean "optimizer"'),
    ],
)
def test_what_cannot_be_trained_is_refused_before_there_is_a_folder(
    settings: dict[str, Any], said: str, two_groups: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    check_refused(said, train, two_groups, tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_a_table_is_not_trained_by_adam_with_the_step_size_for_sgd(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = {"site": np.repeat(list("abcd"), 30), "x": rng.normal(size=120), "y": rng.integers(2, size=120)}
    federation = fc.data.from_frame(table, client="site", label="y")
    quick: Any = {"rounds": 1, "workers": 0}
    ways: list[Any] = [{}, {"optimizer": "sgd"}, {"optimizer": "adam"}, {"optimizer": "adam", "lr": 0.02}]
    steps = [
        read_experiment(
            fc.train(federation, FEDAVG, out=tmp_path / str(number), **quick, **how).path / "experiment.toml"
        )
        for number, how in enumerate(ways)
    ]
    assert [each.local.lr for each in steps] == [0.5, 0.5, 0.01, 0.02]
    assert [each.local.batch for each in steps] == [128] * 4
