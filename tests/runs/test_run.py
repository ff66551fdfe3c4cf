"""Runs as a user of Python has them: train, look, resume, and what stops them."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.api import Settings
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.workers import WorkerFailed
from fedclade.methods import Facts, First, Needs
from fedclade.nouns import Assignment, Damaged, InputError, Round, Row, Stopped, settings
from fedclade.runs.folder import RunFolder
from fedclade.runs.loop import model_hash
from fedclade.testing import play_run

QUICK: Settings = {"rounds": 2, "participation": 0.5, "evaluate_every": 1, "lr": 0.2, "workers": 0}


def test_a_run_has_what_was_promised(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.Local(), net="logistic", out=tmp_path / "run", **QUICK)
    assert sorted(path.name for path in run.path.iterdir()) == [
        "checkpoint",
        "clients.parquet",
        "environment.json",
        "events.jsonl",
        "experiment.toml",
        "lock",
        "models",
        "result.json",
    ]
    assert run.result == run.folder.result()
    assert 0 <= run.worst_tenth <= run.accuracy <= 1
    assert run.groups == run.folder.models().groups()
    model = run.model_for("client-02")
    held = two_groups["client-02"].test
    with torch.no_grad():
        right = (model(torch.from_numpy(held.inputs)).argmax(dim=1).numpy() == held.labels).mean()
    table = run.folder.clients().to_pydict()
    (told,) = (
        accuracy
        for number, client, accuracy in zip(table["round"], table["client"], table["accuracy"], strict=True)
        if (number, client) == (2, "client-02")
    )
    assert told == pytest.approx(right)
    assert np.mean([a for n, a in zip(table["round"], table["accuracy"], strict=True) if n == 2]) == pytest.approx(
        run.accuracy
    )
    with pytest.raises(InputError, match='no client "nobody"'):
        run.model_for("nobody")


def test_a_large_test_share_is_honest(two_groups: Federation, tmp_path: Path) -> None:
    """More than ten times as many test as training examples: nobody lies."""
    pool = two_groups["client-00"].train
    federation = fc.data.from_arrays(dict.fromkeys("ab", (pool.inputs, pool.labels)), test=0.95)
    run = fc.train(federation, fc.FedAvg(), net="logistic", out=tmp_path / "run", **QUICK)
    assert 0 <= run.accuracy <= 1
    assert not [event for event in run.folder.events() if event.get("refused")]


def test_the_groups_of_the_table_are_those_of_the_verdict(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.Local(), net="logistic", out=tmp_path / "run", **QUICK)
    table = run.folder.clients().to_pydict()
    for event in run.folder.events():
        if event["event"] == "evaluation":
            by_group: dict[int, list[float]] = {}
            for number, group, accuracy in zip(table["round"], table["group"], table["accuracy"], strict=True):
                if number == event["round"]:
                    by_group.setdefault(group, []).append(accuracy)
            assert [np.mean(by_group[group]) for group in sorted(by_group)] == pytest.approx(event["accuracy_by_group"])


def test_an_experiment_that_is_changed_while_it_runs_is_found(two_groups: Federation, tmp_path: Path) -> None:
    from fedclade.testing import Interrupted

    class Meddling(fc.FedAvg):
        def round(self, state, fleet, now):  # type: ignore[no-untyped-def]  # passes everything on
            (tmp_path / "run" / "experiment.toml").write_text("something else")
            return super().round(state, fleet, now)

    with pytest.raises(Interrupted):
        play_run(Meddling(), two_groups, tmp_path / "run", stop_after=2)
    with pytest.raises(Damaged, match="is not what the run was started with"):
        play_run(fc.FedAvg(), two_groups, tmp_path / "run")


def test_models_and_their_clients_make_the_hash() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    known = model_hash(Assignment(rows, {"a": 0, "b": 1}))
    assert known == model_hash(Assignment(rows[::-1].copy(), {"a": 1, "b": 0}))  # however the models are kept
    others = [
        Assignment(rows, {"a": 1, "b": 0}),
        Assignment(rows, {"a": 0, "c": 1}),
        Assignment(rows + 1, {"a": 0, "b": 1}),
    ]
    assert len({known, *map(model_hash, others)}) == 4


@dataclass(frozen=True, eq=False)
class Unsaveable:
    numbers: list[int]
    model: Row


@settings
class Forgetful:
    """A method whose state could not be read back."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Unsaveable, Facts]:  # noqa: ARG002
        return Unsaveable([1, 2], first(0)), {}

    def round(self, state: Unsaveable, fleet: Fleet, now: Round) -> tuple[Unsaveable, Facts]:  # noqa: ARG002
        return state, {}

    def assignment(self, state: Unsaveable) -> Assignment:
        return Assignment.of_one(state.model, ("client-00",))

    def place(
        self,
        state: Unsaveable,
        newcomers: tuple[str, ...],  # noqa: ARG002
        fleet: Fleet,  # noqa: ARG002
        now: Round,  # noqa: ARG002
    ) -> tuple[Unsaveable, Facts]:
        return state, {}


def test_a_state_that_cannot_be_read_back_is_refused_at_the_start(two_groups: Federation, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the state of Forgetful cannot be saved"):
        fc.train(two_groups, Forgetful(), net="logistic", out=tmp_path / "run", **QUICK)


def test_a_method_may_call_its_facts_as_it_likes(two_groups: Federation, tmp_path: Path) -> None:
    class Talkative(fc.FedAvg):
        def round(self, state, fleet, now):  # type: ignore[no-untyped-def]  # passes everything on
            return super().round(state, fleet, now)[0], {
                "round": np.int64(3),
                "event": "x",
                "refused": np.float32("nan"),
            }

    play_run(Talkative(), two_groups, tmp_path / "run")
    events = [event for event in RunFolder.open(tmp_path / "run").events() if event["event"] == "round"]
    assert [event["round"] for event in events] == [1, 2, 3, 4]
    assert events[0]["facts"] == {"round": 3, "event": "x", "refused": None}


def test_who_took_part_is_in_the_table(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.FedAvg(), net="logistic", out=tmp_path / "run", **QUICK)
    table = run.folder.clients().to_pydict()
    per_round = [
        sum(took for n, took in zip(table["round"], table["took_part"], strict=True) if n == number)
        for number in (1, 2)
    ]
    assert per_round == [3, 3]
    # Three clients get 650 parameters and send them back with a count and a loss.
    assert sum(table["bytes"]) == 2 * 3 * (2 * 650 * 4 + 16) == run.result["bytes_up"] + run.result["bytes_down"]  # type: ignore[operator]


def test_an_own_net_and_own_data_resume_when_given_again(two_groups: Federation, tmp_path: Path) -> None:
    def net() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))

    whole = fc.train(two_groups, fc.FedAvg(), net=net, out=tmp_path / "whole", **QUICK)
    cut = fc.train(two_groups, fc.FedAvg(), net=net, out=tmp_path / "cut", **QUICK)
    # Take the run back to before its last round.
    (cut.path / "result.json").unlink()
    newest = sorted((cut.path / "checkpoint").iterdir())[-1]
    for file in newest.iterdir():
        file.unlink()
    newest.rmdir()
    with RunFolder.open(cut.path) as folder:
        (cut.path / "clients.arrows").write_bytes(rebuilt(folder))
    with pytest.raises(InputError, match="the data are a Python object"):
        fc.resume(cut.path)
    with pytest.raises(InputError, match="net was given in Python"):
        fc.resume(cut.path, federation=two_groups)
    other = fc.data.build(source="digits", world="iid", clients=6)
    with pytest.raises(InputError, match="data are not those that the run was started with"):
        fc.resume(cut.path, federation=other, net=net)
    assert fc.resume(cut.path, federation=two_groups, net=net).result["model_hash"] == whole.result["model_hash"]


def rebuilt(folder: RunFolder) -> bytes:
    """The clients' log as it was while the run was going on."""
    import pyarrow as pa

    from fedclade.runs.client_table import CLIENTS

    table = folder.clients()
    (folder.path / "clients.parquet").unlink()
    batches = [
        table.filter(pa.compute.equal(table["round"], number)).combine_chunks().to_batches()[0] for number in (1, 2)
    ]
    return b"".join([CLIENTS.serialize().to_pybytes(), *(batch.serialize().to_pybytes() for batch in batches)])


def test_a_batch_too_short_for_the_net_is_found_before_the_start(tmp_path: Path) -> None:
    """BatchNorm cannot be trained on one example: 11 of them at batch 10 leave one."""

    def normalised() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))

    inputs = np.random.default_rng(0).random((14, 4))
    federation = fc.data.from_arrays({name: (inputs, np.arange(14) % 2) for name in "ab"}, test=0.2)
    assert len(federation["a"].train) == 11
    with pytest.raises(InputError, match=r"cannot read the inputs.*training on 1 inputs.*another local\.batch"):
        fc.train(federation, fc.FedAvg(), net=normalised, out=tmp_path / "run", **QUICK)
    nine: Settings = {**QUICK, "batch": 9}
    with pytest.raises(InputError, match="training on 1 inputs"):  # who keeps one of them aside has 10: 9 and 1
        fc.train(federation, fc.CFL(validation=0.1), net=normalised, out=tmp_path / "run", **nine)
    assert not (tmp_path / "run").exists()
    quick: Settings = {**QUICK, "batch": 11}
    assert 0 <= fc.train(federation, fc.FedAvg(), net=normalised, out=tmp_path / "run", **quick).accuracy <= 1


def test_a_file_that_a_method_misses_is_not_a_full_disk(two_groups: Federation, tmp_path: Path) -> None:
    class Reading(fc.FedAvg):
        def round(self, state, fleet, now):  # type: ignore[no-untyped-def]  # passes everything on
            (tmp_path / "missing").read_text()
            return super().round(state, fleet, now)

    with pytest.raises(FileNotFoundError):
        play_run(Reading(), two_groups, tmp_path / "run")


def test_numbers_of_numpy_are_numbers(two_groups: Federation, tmp_path: Path) -> None:
    quick: Settings = {**QUICK, "rounds": np.int64(2), "seed": np.int64(3), "lr": np.float32(0.25)}  # type: ignore[typeddict-item]
    assert fc.train(two_groups, fc.FedAvg(), net="logistic", out=tmp_path / "run", **quick).result["seed"] == 3


def too_few_outputs() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))


def test_a_net_that_does_not_fit_is_an_error_before_there_is_a_folder(two_groups: Federation, tmp_path: Path) -> None:
    flat = fc.data.from_arrays({"a": (np.zeros((9, 4)), np.arange(9)), "b": (np.ones((9, 4)), np.arange(9))})
    with pytest.raises(InputError, match="lenet cannot read these inputs"):
        fc.train(flat, fc.FedAvg(), net="lenet", out=tmp_path / "run", **QUICK)
    with pytest.raises(InputError, match="net <lambda> cannot read the inputs"):
        fc.train(two_groups, fc.FedAvg(), net=lambda: torch.nn.Linear(9, 10), out=tmp_path / "run", **QUICK)
    with pytest.raises(InputError, match=r"does not fit the classes.*outputs \(1, 3\)"):
        fc.train(two_groups, fc.FedAvg(), net=too_few_outputs, out=tmp_path / "run", **QUICK)
    with pytest.raises(InputError, match="does not make a module"):
        fc.train(two_groups, fc.FedAvg(), net=lambda: 3, out=tmp_path / "run", **QUICK)  # type: ignore[arg-type, return-value]
    assert not (tmp_path / "run").exists()


def test_unknown_settings_are_named(two_groups: Federation) -> None:
    with pytest.raises(InputError, match='did you mean "rounds"'):
        fc.train(two_groups, fc.FedAvg(), round=3)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="lr is not usable"):
        fc.train(two_groups, fc.FedAvg(), lr=-1.0)
    with pytest.raises(InputError, match='did you mean "hidden"'):
        fc.train(two_groups, fc.FedAvg(), net_settings={"hiden": 3})


def test_a_run_that_diverges_is_stopped_with_the_reason(two_groups: Federation, tmp_path: Path) -> None:
    """Every reply is NaN: refused, recorded, and after some rounds the run says so instead of going on for ever."""
    long: Settings = {**QUICK, "rounds": 20, "lr": 1e30}
    with pytest.raises(
        Stopped, match=r"nobody could be heard for 5 rounds.*NaN or infinite.*fedclade\.resume"
    ) as caught:
        fc.train(two_groups, fc.FedAvg(), net="mlp", out=tmp_path / "run", **long)
    assert caught.value.exit_code == 3
    refused = [event["refused"] for event in RunFolder.open(tmp_path / "run").events() if event["event"] == "round"]
    assert len(refused) == 4  # the fifth was not completed
    assert all(len(each) == 3 for each in refused)  # type: ignore[arg-type]


def test_a_bug_in_a_method_is_an_exception(two_groups: Federation, tmp_path: Path) -> None:
    class Broken(torch.nn.Linear):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            assert not self.training or len(inputs) < 10, "cannot be trained"  # a full batch
            return super().forward(inputs.flatten(1))

    forked: Settings = {**QUICK, "workers": 1}
    with pytest.raises(WorkerFailed, match="cannot be trained"):
        fc.train(two_groups, fc.FedAvg(), net=lambda: Broken(64, 10), out=tmp_path / "run", **forked)


def test_what_is_not_a_method_is_refused(two_groups: Federation, tmp_path: Path) -> None:
    for wrong in (fc.FedAvg, "fedavg", None, object()):
        with pytest.raises(InputError, match="the method is not usable"):
            fc.train(two_groups, wrong, out=tmp_path / "run", **QUICK)  # type: ignore[arg-type]  # what is tested
    assert not (tmp_path / "run").exists()


def test_two_settings_of_a_method_are_two_lines(two_groups: Federation, tmp_path: Path) -> None:
    both = fc.compare(
        two_groups, [fc.FedProx(mu=0.0), fc.FedProx(mu=5.0)], seeds=2, net="logistic", out=tmp_path / "both", **QUICK
    )
    assert [(line.method, line.runs) for line in both.lines] == [("fedprox, mu 0.0", 2), ("fedprox, mu 5.0", 2)]


def test_compare_runs_every_method_with_every_seed(two_groups: Federation, tmp_path: Path) -> None:
    comparison = fc.compare(
        two_groups, [fc.FedAvg(), fc.Local()], seeds=2, net="logistic", out=tmp_path / "both", **QUICK
    )
    assert [(run.result["method"], run.result["seed"]) for run in comparison.runs] == [
        ("fedavg", 0),
        ("local", 0),
        ("fedavg", 1),
        ("local", 1),
    ]
    again = fc.compare(two_groups, [fc.FedAvg(), fc.Local()], seeds=2, net="logistic", out=tmp_path / "both", **QUICK)
    assert [run.result for run in again.runs] == [run.result for run in comparison.runs]  # and nothing was done twice
    fedavg, local = comparison.lines
    assert fedavg.accuracy == pytest.approx(np.mean([run.accuracy for run in comparison.runs[::2]]))
    assert local.accuracy_deviation == pytest.approx(np.std([run.accuracy for run in comparison.runs[1::2]]))
    assert fedavg.harmed is not None
    assert fedavg.harmed + local.harmed <= len(two_groups)  # type: ignore[operator]  # nobody is worse off both ways
    assert comparison.report(tmp_path / "report.html").stat().st_size > 1e6


def test_seconds_and_bytes_add_up_over_a_resume(two_groups: Federation, tmp_path: Path) -> None:
    from fedclade.testing import Interrupted

    whole, _ = play_run(fc.FedAvg(), two_groups, tmp_path / "whole")
    with pytest.raises(Interrupted):
        play_run(fc.FedAvg(), two_groups, tmp_path / "cut", stop_after=2)
    resumed, _ = play_run(fc.FedAvg(), two_groups, tmp_path / "cut")
    assert resumed["bytes_up"] == whole["bytes_up"] == 4 * 3 * (650 * 4 + 16)
    assert resumed["bytes_down_evaluate"] == whole["bytes_down_evaluate"] == 2 * 6 * 650 * 4


def test_shuffled_clients_change_nothing(two_groups: Federation, tmp_path: Path) -> None:
    turned = replace(two_groups, data={client: two_groups[client] for client in reversed(two_groups.clients)})
    hashes = {
        play_run(fc.FedAvg(), each, tmp_path / str(number))[0]["model_hash"]
        for number, each in enumerate((two_groups, turned))
    }
    assert len(hashes) == 1


def test_another_path_is_not_taken_in_silence(
    two_groups: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the kernel that a run was started with, models would differ in their last digits."""

    with monkeypatch.context() as patch:
        patch.setattr("fedclade.runs.run.play", lambda *_: (_ for _ in ()).throw(Stopped("the power is gone")))
        with pytest.raises(Stopped, match="the power is gone"):
            fc.train(two_groups, fc.FedAvg(), net="logistic", out=tmp_path / "cut", **QUICK)
    before = RunFolder.open(tmp_path / "cut").environment()["path"]
    monkeypatch.setattr("fedclade.runs.venue.path_for", lambda *_: "another")
    with pytest.raises(InputError, match=rf"on another path.*got another, need {before}.*--repair"):
        fc.resume(tmp_path / "cut", federation=two_groups)
    assert fc.resume(tmp_path / "cut", federation=two_groups, repair=True).result["rounds"] == 2
