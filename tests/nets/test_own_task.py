"""A loss and metrics of the user's own: they are used as they are, and what is wrong with them is said at once."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

import fedclade as fc
from conformance.loopback import grid_of, loopback
from fedclade.api import Settings
from fedclade.core import Assignment, Round, Stopped
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.nets.own_task import LossFunction, MetricFunction
from fedclade.testing.checks import without_time
from fedclade.testing.toys import two_groups
from refusals import check_refused

SETTINGS = Settings(rounds=3, participation=1.0, lr=0.1, workers=0)


def with_workers(count: int) -> Settings:
    settings = SETTINGS.copy()
    settings["workers"] = count
    return settings


def absolute(outputs: Tensor, labels: Tensor) -> Tensor:
    return (outputs - labels).abs().mean()


def worst(outputs: Tensor, labels: Tensor) -> float:
    return float((outputs - labels).abs().max())


@pytest.fixture
def numbers() -> Federation:
    return two_groups("regression")


def test_a_loss_of_ones_own_trains_as_the_same_loss_of_ours(numbers: Federation, tmp_path: Path) -> None:
    """And its metric is the mean over clients' test examples: RMSE squared, less the label's scale."""
    ours = fc.train(numbers, fc.FLT(), net="logistic", out=tmp_path / "ours", **SETTINGS)
    task = fc.OwnTask(mse_loss, {"squared": mse_loss}, lower_is_better="squared")
    mine = fc.train(numbers, fc.FLT(), net="logistic", task=task, out=tmp_path / "mine", **SETTINGS)
    assert mine.result["model_hash"] == ours.result["model_hash"]
    metrics, known = mine.result["metrics"], ours.result["metrics"]
    assert isinstance(metrics, dict)
    assert isinstance(known, dict)
    assert metrics["squared"] == pytest.approx((known["rmse"] / numbers.task.scale) ** 2, rel=1e-5)
    assert mine.result["metric"] == "squared"


def test_workers_and_flower_have_the_functions_too(numbers: Federation, tmp_path: Path) -> None:
    task = fc.OwnTask(absolute, {"worst": worst}, "worst")
    here = fc.train(numbers, fc.IFCA(), net="logistic", task=task, out=tmp_path / "here", **SETTINGS)
    there = fc.train(numbers, fc.IFCA(), net="logistic", task=task, out=tmp_path / "there", **with_workers(2))
    assert without_time({**there.result, "run": ""}) == without_time({**here.result, "run": ""})
    own = numbers.with_own_task(task)
    net = net_for("logistic", own.shape, 1, task=own.task, own_task=task)
    start = Assignment.of_one(net.initial_row(0), own.clients)
    now = Round(1, 0)
    with simulated_fleet(own, net, workers=0) as fleet, loopback(own, "logistic", grid_of(own, task))(net) as flower:
        trained, far = fleet.train(start, now), flower.begin(1).train(start, now)
        assert far.rows.tobytes() == trained.rows.tobytes()
        assert flower.begin(1).evaluate(start, now).sums.tolist() == fleet.evaluate(start, now).sums.tolist()


def test_a_net_has_the_outputs_that_the_loss_wants(numbers: Federation, tmp_path: Path) -> None:
    """A Gaussian's negative log likelihood wants a mean and a variance."""

    def likelihood(outputs: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.gaussian_nll_loss(outputs[:, 0], labels, outputs[:, 1].exp())

    task = fc.OwnTask(likelihood, outputs=2)
    run = fc.train(numbers, fc.FedAvg(), net="logistic", task=task, out=tmp_path / "run", **SETTINGS)
    assert tuple(run.model_for("client-00")(torch.zeros(3, 4)).shape) == (3, 2)
    assert run.result["metric"] == "loss"


def test_a_run_goes_on_with_the_same_functions_alone(numbers: Federation, tmp_path: Path) -> None:
    task, out, calls = fc.OwnTask(absolute, {"worst": worst}, "worst"), tmp_path / "run", list[int]()
    run = fc.train(numbers, fc.FedAvg(), net="logistic", task=task, out=tmp_path / "whole", **SETTINGS)

    def interrupted(outputs: Tensor, labels: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) == 100:  # a round of six clients takes 60
            raise KeyboardInterrupt
        return absolute(outputs, labels)

    stopped = fc.OwnTask(interrupted, task.metrics, "worst")
    with pytest.raises(Stopped, match=r"fedclade.resume\(.*, federation=..., task=...\)"):
        fc.train(numbers, fc.FedAvg(), net="logistic", task=stopped, out=out, **SETTINGS)
    said = "this run's task was given in Python, task: need the same functions; do: give it in Python"
    check_refused(said, fc.resume, out)
    check_refused(said, fc.resume, out, federation=numbers)
    other = fc.OwnTask(absolute, {"best": worst})
    check_refused("the task is not the one of the run", fc.resume, out, federation=numbers, task=other)
    again = fc.resume(out, federation=numbers, task=task)
    assert again.result["model_hash"] == run.result["model_hash"]
    plain = fc.train(numbers, fc.FedAvg(), net="logistic", out=tmp_path / "plain", **SETTINGS)
    check_refused("this run has no task of its own", fc.resume, plain.path, federation=numbers, task=task)


def test_methods_are_compared_by_it(numbers: Federation, tmp_path: Path) -> None:
    task = fc.OwnTask(absolute, {"worst": worst}, "worst")
    compared = fc.compare(
        numbers, [fc.FedAvg(), fc.FLT()], net="logistic", task=task, jobs=2, out=tmp_path / "all", **SETTINGS
    )
    assert [run.result["metric"] for run in compared.runs] == ["worst", "worst"]


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (
            lambda given, wanted: (given - wanted) ** 2,
            r"not one number, task.loss: got a tensor \(\d+,\), need a tensor",
        ),
        (lambda given, wanted: mse_loss(given, wanted).item(), "not one number, task.loss: got float"),
        (lambda given, wanted: mse_loss(given, wanted) / 0 * 0, "not finite, task.loss: got nan"),
        (lambda given, wanted: mse_loss(given.detach(), wanted), "no gradient, task.loss"),
        (
            lambda given, wanted: given @ wanted[:3],
            r"fails, task.loss: got RuntimeError: .*need a function of outputs \(",
        ),
    ],
)
def test_a_wrong_loss_is_refused_before_there_is_a_run(
    numbers: Federation, tmp_path: Path, loss: LossFunction, said: str
) -> None:
    task, out = fc.OwnTask(loss), tmp_path / "run"
    check_refused(said, fc.train, numbers, fc.FedAvg(), net="logistic", task=task, out=out, **SETTINGS)
    assert not out.exists()


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (lambda _, wanted: 1 / (len(wanted) - len(wanted)), r"fails, task.metrics, 'mine': got ZeroDivisionError"),
        (lambda _, __: float("nan"), "gives no number, task.metrics, 'mine': got nan, need a finite number"),
        (lambda _, __: "good", "gives no number, task.metrics, 'mine': got good"),
        (lambda given, _: given, r"gives no number, task.metrics, 'mine': got tensor"),
    ],
)
def test_a_wrong_metric_is_refused_before_there_is_a_run(
    numbers: Federation, tmp_path: Path, metric: MetricFunction, said: str
) -> None:
    task, out = fc.OwnTask(absolute, {"mine": metric}), tmp_path / "run"
    check_refused(said, fc.train, numbers, fc.FedAvg(), net="logistic", task=task, out=out, **SETTINGS)
    assert not out.exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_metric_that_fails_later_names_its_client(numbers: Federation, tmp_path: Path, workers: int) -> None:
    """As an area under a curve does where a client has one class only. It is the user's error, and no bug."""
    lowest = {client: float(held.test.labels.min()) for client, held in numbers.data.items()}
    odd = max(lowest, key=lambda client: (lowest[client] != lowest[numbers.clients[0]], client))

    def metric(_: Tensor, labels: Tensor) -> float:
        return float("nan") if float(labels.min()) == lowest[odd] else 1.0

    task, settings = fc.OwnTask(absolute, {"mine": metric}), with_workers(workers)
    said = f"gives no number, client \"{odd}\", task.metrics, 'mine': got nan"
    check_refused(said, fc.train, numbers, fc.FedAvg(), net="logistic", task=task, out=tmp_path / "run", **settings)


def test_an_own_task_is_functions_with_names() -> None:
    check_refused("not usable, task: got 3, need functions", fc.OwnTask, 3)  # type: ignore[arg-type]
    check_refused("not usable, task: got metric 'a': 3", fc.OwnTask, absolute, {"a": 3})  # type: ignore[dict-item]
    check_refused("not usable, task.metrics: got list", fc.OwnTask, absolute, [worst])  # type: ignore[arg-type]
    check_refused("the name of the loss", fc.OwnTask, absolute, {"loss": worst})
    check_refused("no such metric, task.lower_is_better: got 'b'", fc.OwnTask, absolute, {"a": worst}, ["b"])


def test_a_task_by_name_is_said_of_the_data(numbers: Federation) -> None:
    said = "the task is not usable, task: got 'regression', need fc.OwnTask.* do: .*from_arrays"
    check_refused(said, fc.train, numbers, fc.FedAvg(), task="regression")  # type: ignore[arg-type]


def test_own_modules_have_one_output_for_a_number(numbers: Federation, tmp_path: Path) -> None:
    def wide() -> nn.Module:
        return nn.Linear(4, 3)

    said = r"net wide does not fit the task: got outputs \(1, 3\), need \(1, 1\): a number for each example"
    check_refused(said, fc.train, numbers, fc.FedAvg(), net=wide, out=tmp_path / "wide", **SETTINGS)
    for name, module in {
        "column": lambda: nn.Linear(4, 1),
        "flat": lambda: nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)),
    }.items():
        run = fc.train(numbers, fc.Local(), net=module, out=tmp_path / name, **SETTINGS)
        assert np.isfinite(run.result["loss"])  # type: ignore[call-overload]  # a number
