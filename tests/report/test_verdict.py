"""Which method is best: by a test that finds none where there is none."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from fedclade.report.run_data import RunData
from fedclade.report.verdict import MethodVerdict, interval_of, judge_methods, verdict_sentence
from fedclade.store.client_table import CLIENT_SCHEMA
from fedclade.store.events import EvaluationEvent
from report.folders import asked

COUNT = 30  # clients


def run_of(
    method: str, values: NDArray[np.float64], seed: int = 0, data: str = "d", task: str = "classification"
) -> RunData:
    """A finished run whose clients end with these numbers."""
    count = len(values)
    columns = [[1] * count, [f"c{number}" for number in range(count)], values, values, [0] * count, [0] * count]
    columns += [[True] * count, values, [None] * count, [20] * count]
    table = pa.table(dict(zip(CLIENT_SCHEMA.names, columns, strict=True)), schema=CLIENT_SCHEMA)
    metric = "rmse" if task == "regression" else "accuracy"
    event = EvaluationEvent(round=1, task=task, metric=metric, lower_is_better=("rmse", "loss"))
    return RunData(Path(method), asked(method, seed), {"data_sha256": data}, (event,), table, {})


def judge(runs: Sequence[RunData]) -> MethodVerdict:
    return judge_methods(runs, {run.method: float(run.final_metrics.values.mean()) for run in runs})


@pytest.mark.parametrize("methods", [("fedavg", "local"), ("fedavg", "local", "ifca", "flt")])
def test_of_methods_that_are_alike_hardly_ever_one_is_best(methods: tuple[str, ...]) -> None:
    """Clients that differ from each other by much, 20 examples each, and methods that differ by chance alone."""
    rng = np.random.default_rng(len(methods))
    best = 0
    for _ in range(300):
        skill = rng.uniform(0.4, 0.95, COUNT)
        best += judge([run_of(method, rng.binomial(20, skill) / 20) for method in methods]).best is not None
    assert best / 300 <= 0.05


def test_a_method_that_is_better_is_found_although_clients_differ_more() -> None:
    """Three points better with every client, give or take two; the clients differ by fifteen."""
    rng = np.random.default_rng(0)
    skill = rng.uniform(0.4, 0.9, COUNT)
    runs = [run_of("fedavg", skill), run_of("flt", skill + rng.normal(0.03, 0.02, COUNT))]
    verdict = judge(runs)
    assert verdict.best == "flt"
    values = {"fedavg": 0.625, "flt": 0.655, "ifca": float("nan")}
    said = verdict_sentence(verdict, values, runs[0], COUNT)
    assert said == "flt was best: 65.5 % mean accuracy over 30 clients (fedavg 62.5 %, ifca not evaluated)."
    worse = run_of("local", skill - 0.2 + rng.normal(0, 0.02, COUNT))
    alike = run_of("ifca", skill + rng.normal(0.03, 0.02, COUNT))
    four = judge([*runs, alike, worse])
    assert four.best is None
    assert {four.leader, *four.within_noise} == {"flt", "ifca"}
    numbers = {"fedavg": 0.625, "flt": 0.655, "ifca": 0.655, "local": 0.425}
    said = verdict_sentence(four, numbers, runs[0], COUNT)
    assert said.endswith(
        "are within noise: 65.5 %, 65.5 % mean accuracy over 30 clients (fedavg 62.5 %, local 42.5 %)."
    )


def test_less_is_better_where_the_metric_says_so() -> None:
    rng = np.random.default_rng(0)
    errors = rng.uniform(1, 9, COUNT)
    runs = [run_of("fedavg", errors, task="regression"), run_of("flt", 0.8 * errors, task="regression")]
    verdict = judge(runs)
    assert verdict.best == "flt"
    assert "flt was best: 4 RMSE over" in verdict_sentence(verdict, {"fedavg": 5.0, "flt": 4.0}, runs[0], COUNT)
    low, high = interval_of(runs[:1], 5.5) or (0, 0)
    assert low < 5.5 < high


def test_seeds_with_the_same_data_are_no_more_clients() -> None:
    """Four seeds of four clients: a difference of the means of four, three degrees of freedom, and not of sixteen."""
    rng = np.random.default_rng(3)
    one, other = rng.normal(0.6, 0.01, (4, 4)), rng.normal(0.6, 0.01, (4, 4)) + np.array([0.03, 0.0, 0.06, -0.01])
    runs = [run_of("fedavg", one[seed], seed) for seed in range(4)]
    runs += [run_of("flt", other[seed], seed) for seed in range(4)]
    from scipy import stats

    wanted = stats.ttest_rel(one.mean(axis=0), other.mean(axis=0)).pvalue
    values = {"fedavg": float(one.mean()), "flt": float(other.mean())}
    assert judge_methods(runs, values).p_values == {"fedavg": pytest.approx(wanted)}
    low, high = stats.t.interval(0.95, 3, one.mean(), stats.sem(one.mean(axis=0)))
    assert interval_of(runs[:4], float(one.mean())) == pytest.approx((low, high))
    elsewhere = [run_of("fedavg", one[0]), run_of("flt", other[0], data="others")]
    assert judge(elsewhere).best is None  # not the same clients


def test_without_anybody_evaluated_there_is_no_leader() -> None:
    runs = [run_of("fedavg", np.zeros(0)), run_of("flt", np.zeros(0))]
    verdict = judge_methods(runs, {"fedavg": float("nan"), "flt": float("nan")})
    assert verdict_sentence(verdict, {}, runs[0], 0) == "Nobody could be evaluated."
