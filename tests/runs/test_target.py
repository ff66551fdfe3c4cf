"""How soon a metric was as good as a target: any metric of the task, whichever way is better."""

from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.api import Settings
from fedclade.core import InputError
from fedclade.core.task import METRIC_KINDS
from fedclade.data import Federation
from fedclade.runs.experiment import experiment_from
from fedclade.runs.target import MetricTarget
from fedclade.store.events import EvaluationEvent, TrafficEvent

QUICK: Settings = {"rounds": 4, "participation": 1.0, "evaluate_every": 1, "lr": 0.1, "workers": 0}


@pytest.fixture(scope="module")
def regression() -> Federation:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(6, 30, 3))
    labels = 10 * (inputs @ np.array([3.0, -2.0, 1.0])) + 100
    return fc.data.from_arrays({f"c{at}": (inputs[at], labels[at]) for at in range(6)})


def test_of_an_error_less_is_better(regression: Federation, tmp_path: Path) -> None:
    """By hand from the log: the first round with an R2 of at least the third round's, or an RMSE of at most its."""
    done = fc.compare(regression, [fc.FedAvg()], net="logistic", out=tmp_path / "out", **QUICK)
    log = [*done.runs[0].folder.events()]
    third = next(event for event in log if isinstance(event, EvaluationEvent) and event.round == 3)
    sent = sum(
        float(event.bytes_up or 0) + float(event.bytes_down or 0)
        for event in log
        if isinstance(event, TrafficEvent) and event.round <= 3
    )
    for name in ("rmse", "r2", "mae"):
        again = fc.compare(
            regression,
            [fc.FedAvg()],
            net="logistic",
            out=tmp_path / "out",
            target=third.metrics[name],
            metric="" if name == "rmse" else name,
            **QUICK,
        )
        (line,) = again.lines
        assert (line.reached, line.target_rounds, line.target_bytes) == (1, 3, sent), name
        assert "rounds to target" in str(again)
    assert "rounds to target" in again.report(tmp_path / "report.html").read_text()
    never = fc.compare(regression, [fc.FedAvg()], net="logistic", out=tmp_path / "out", target=0.0, **QUICK)
    assert never.lines[0].reached == 0


def test_what_a_task_has_not_is_refused_before_any_work(
    regression: Federation, two_groups: Federation, tmp_path: Path
) -> None:
    out = tmp_path / "none"
    with pytest.raises(InputError, match=r'got "accuracy", need one of rmse, mae, r2, loss'):
        fc.compare(regression, [fc.FedAvg()], out=out, metric="accuracy", target=0.5, **QUICK)
    with pytest.raises(InputError, match=r"got 90, need balanced_accuracy as a share: 0 to 1"):
        fc.compare(two_groups, [fc.FedAvg()], out=out, metric="balanced_accuracy", target=90, **QUICK)
    with pytest.raises(InputError, match=r"a metric without a target has no use"):
        fc.compare(two_groups, [fc.FedAvg()], out=out, metric="auc", **QUICK)
    assert not out.exists()


def test_a_target_is_a_part_of_an_experiment() -> None:
    tables = {"data": {"source": "digits", "world": "iid"}, "compare": {"target": 0.5, "metric": "auc"}}
    asked = experiment_from(tables)
    assert asked.compare == MetricTarget(target=0.5, metric="auc")
    assert "[compare]" in asked.toml()
    assert "[compare]" not in experiment_from({"data": {"source": "digits", "world": "iid"}}).toml()
    with pytest.raises(InputError, match=r"compare\.targets"):
        experiment_from({"data": {"source": "digits", "world": "iid"}, "compare": {"targets": 0.5}})


def test_a_target_is_reached_by_hand() -> None:
    target = MetricTarget(target=0.5)
    assert [target.is_reached(value, METRIC_KINDS["accuracy"]) for value in (0.4, 0.5, None)] == [False, True, False]
    assert [target.is_reached(value, METRIC_KINDS["rmse"]) for value in (0.4, 0.5, 0.6)] == [True, True, False]
