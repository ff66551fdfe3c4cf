"""Runs side by side: one row for each method, over its seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedclade.core import InputError
from fedclade.report.harm import harmed_by_run
from fedclade.report.naming import indices_by_label
from fedclade.report.run_data import JsonObject, RunData, as_list, mapping, number, read_run, run_labels
from fedclade.report.verdict import interval_of
from fedclade.runs.target import NO_TARGET, MetricTarget
from fedclade.store.run_folder import RunFolder


@dataclass(frozen=True)
class ComparisonRow:
    """A method's metrics: means over its runs, and the deviation of the accuracy between them."""

    method: str
    runs: int
    rounds: int
    accuracy: float
    """NaN of a task without an accuracy, likewise the next three: then see `value`."""
    accuracy_deviation: float
    accuracy_weighted: float
    accuracy_variance: float
    task: str
    """The kind of what is learned."""
    metric: str
    """The name of the main metric."""
    lower_is_better: tuple[str, ...]
    """The metrics of which less is better."""
    value: float
    """Of the main metric."""
    deviation: float
    """Its standard deviation over seeds."""
    interval: tuple[float, float] | None
    """Of the main metric over clients, at `fedclade.runs.significance.LEVEL`; None of fewer than two clients."""
    metrics: Mapping[str, float]
    """Every metric of the task."""
    recall: Mapping[str, float]
    """Of a classification with few classes the share of each one's test examples that is found."""
    baseline: Mapping[str, float]
    """The metrics of an answer that is always the same, where they are known."""
    baseline_recall: Mapping[str, float]
    diverged: int
    """How many of its runs diverged: their models are of no use, and the means are not."""
    worst_tenth: float
    loss: float
    groups: float
    ari: float | None
    harmed: float | None
    """Clients that end worse than with Local or FedAvg, beyond noise, if one of these ran on the same seed; a mean over
    seeds."""
    bytes_up: float
    bytes_down: float
    reached: int | None
    """Runs that reached the target; None: no target was given."""
    target_rounds: float | None
    """Rounds to the target, a mean over the runs that reached it; only evaluated rounds count."""
    target_bytes: float | None
    """Bytes up and down until then, likewise; evaluation left out."""
    seconds: float
    cpu_seconds: float


def compare_runs(folders: Sequence[RunFolder], target: MetricTarget = NO_TARGET) -> tuple[ComparisonRow, ...]:
    """A row for each method (and for each of its settings), in the order in which they first appear.

    With a target also how many rounds and bytes it took to reach it.
    """
    return comparison_rows([read_run(folder) for folder in folders], target)


def comparison_rows(runs: Sequence[RunData], target: MetricTarget = NO_TARGET) -> tuple[ComparisonRow, ...]:
    """The same of runs that have been read; all of them must be finished."""
    results = [finished_result(run) for run in runs]
    harmed = harmed_by_run(runs)
    rows: list[ComparisonRow] = []
    for label, mine in indices_by_label(run_labels(runs)).items():

        def mean(name: str, mine: list[int] = mine) -> float:
            return float(np.mean([number(results[index].get(name)) for index in mine]))

        costs = [] if target.target is None else [cost_to_target(runs[index], target) for index in mine]
        reached = [cost for cost in costs if cost is not None]
        values = [final_value(results[index]) for index in mine]
        value = float(np.mean(values))
        counts = [len(found) for index in mine if (found := harmed[index]) is not None]
        rows.append(
            ComparisonRow(
                method=label,
                runs=len(mine),
                rounds=int(mean("rounds")),
                task=runs[mine[0]].task,
                metric=runs[mine[0]].metric,
                lower_is_better=runs[mine[0]].last_evaluation.lower_is_better,
                value=value,
                deviation=float(np.std(values)),
                interval=interval_of([runs[index] for index in mine], value),
                metrics=mean_of([mapping(results[index].get("metrics")) for index in mine]),
                recall=mean_of([mapping(results[index].get("recall")) for index in mine]),
                baseline=mean_of([mapping(results[index].get("baseline")) for index in mine]),
                baseline_recall=mean_of([baseline_recall(results[index]) for index in mine]),
                diverged=sum(results[index].get("diverged") is True for index in mine),
                accuracy=mean("accuracy"),
                accuracy_deviation=float(np.std([number(results[index].get("accuracy")) for index in mine])),
                accuracy_weighted=mean("accuracy_weighted"),
                accuracy_variance=mean("accuracy_variance"),
                worst_tenth=mean("worst_tenth"),
                loss=mean("loss"),
                groups=mean("group_count"),
                ari=None if results[mine[0]].get("ari") is None else mean("ari"),
                harmed=float(np.mean(counts)) if counts else None,
                bytes_up=mean("bytes_up"),
                bytes_down=mean("bytes_down"),
                reached=None if target.target is None else len(reached),
                target_rounds=float(np.mean([rounds for rounds, _ in reached])) if reached else None,
                target_bytes=float(np.mean([count for _, count in reached])) if reached else None,
                seconds=mean("seconds"),
                cpu_seconds=mean("cpu_seconds"),
            )
        )
    return tuple(rows)


def final_value(result: JsonObject) -> float:
    """The main metric of a verdict; NaN where nobody could be evaluated."""
    metric = str(result.get("metric") or "accuracy")
    metrics = mapping(result.get("metrics"))
    return number(metrics.get(metric, result.get("accuracy")))


def baseline_recall(result: JsonObject) -> dict[str, float]:
    """Of always saying the class that most test examples have."""
    recall = mapping(result.get("recall"))
    there = [number(count) for count in as_list(next(iter(as_list(result.get("class_counts"))), ()))] if recall else []
    most = there.index(max(there)) if there else -1
    return {name: float(place == most) for place, name in enumerate(recall)}


def mean_of(tables: Sequence[JsonObject]) -> dict[str, float]:
    """The mean of each number; NaN where one of them is not known."""
    return {str(name): float(np.mean([number(each.get(name)) for each in tables])) for name in tables[0]}


def finished_result(run: RunData) -> JsonObject:
    """The verdict of a run that is finished."""
    if run.result is None:
        raise InputError("the run is not finished", where=str(run.path), need="a finished run")
    return run.result


def cost_to_target(run: RunData, target: MetricTarget) -> tuple[int, int] | None:
    """The first evaluated round that reached the target, and the bytes until then; None if none did."""
    known = [name for name in run.last_evaluation.metrics if name != run.metric]
    if known:
        target.check([run.metric, *known], run.metric_kind)
    name = target.metric or run.metric
    sent, kind = run.bytes_by_round(), run.metric_kind(name)
    for round_, event in run.evaluations():
        if round_ and target.is_reached(event.value if name == run.metric else event.metrics.get(name), kind):
            return round_, int(sent[round_])
    return None
