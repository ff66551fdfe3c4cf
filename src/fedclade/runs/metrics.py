"""The metrics of a run. Only here are planted groups compared with those that a method found."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.distances import Matrix
from fedclade.clustering.separation import separation_gap
from fedclade.core import Assignment, ClientId, Groups
from fedclade.core.evaluation import (
    MAX_LOSS,
    add_evaluations,
    baseline_metrics,
    class_counts,
    main_metric,
    metrics_of,
    pairs_of,
)
from fedclade.core.task import MAX_CONFUSION, MetricKind, metric_kind
from fedclade.fleet import Scores
from fedclade.runs.significance import (
    ALPHA,
    LEVEL,
    SHARE_TASKS,
    false_discovery,
    fewer_right_p,
    half_width,
    over_clients,
    pseudo_values,
    worse_p,
)

METRICS = ("accuracy", "accuracy_weighted", "accuracy_variance", "worst_tenth", "loss", "perplexity")
MAX_RECALLS = 20  # classes: of more, the recall of each is left to `class_counts`


@dataclass(frozen=True, eq=False)
class ClientMetrics:
    """The main metric of every client that answered."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    """Standard errors, as if a client's test examples were drawn anew; NaN where they are not known."""


def client_metrics(scores: Scores) -> ClientMetrics:
    """The main metric of each client, by the task."""
    found = [main_metric(scores.task, each) for each in scores.evaluations()]
    values, errors = np.array(found, np.float64).reshape(len(found), 2).T
    return ClientMetrics(values, errors)


def summary(scores: Scores) -> dict[str, object]:
    """The metrics of one evaluation, over the clients that answered; None if nobody did.

    accuracy            unweighted mean over clients, 0 to 1; None of a task without an accuracy, likewise these two:
    accuracy_weighted   the same weighted by test examples
    accuracy_variance   population variance over clients of the accuracy in percent (FLT's fairness)
    worst_tenth         mean of the main metric over the worst tenth of the clients, at least one
    loss                unweighted mean of the clients' test losses
    perplexity          exp of that: a model that guesses among so many words, or labels, has this loss; None of a task
                        without an accuracy
    task                what is learned
    metric              the name of the task's main metric
    lower_is_better     the metrics of which less is better
    metrics             every metric of the task; of the test examples of all clients together, but for the accuracy
                        and the loss, which are means over clients
    baseline            the same of an answer that is always the same, where that is known
    """
    task = scores.task
    head = {
        "task": task.kind,
        "metric": task.metric,
        "lower_is_better": [name for name in task.metric_names if metric_kind(name, task).lower_is_better],
    }
    if not scores.clients:
        return {**dict.fromkeys(METRICS), **head, "metrics": {}, "baseline": {}}
    values = client_metrics(scores).values
    ordered = np.sort(values)
    worst = ordered[::-1] if metric_kind(task.metric, task).lower_is_better else ordered
    loss = float(scores.losses.mean())
    accuracy = task.kind in SHARE_TASKS
    parts = scores.evaluations()
    pairs = np.sum([pairs_of(task, part) for part in parts], axis=0)
    metrics = metrics_of(task, add_evaluations(parts), pairs if pairs.size else None)
    metrics["loss"] = loss
    if accuracy:
        metrics["accuracy"] = float(values.mean())
    return {
        "accuracy": float(values.mean()) if accuracy else None,
        "accuracy_weighted": float(values @ scores.examples) / float(scores.examples.sum()) if accuracy else None,
        "accuracy_variance": float((100 * values).var()) if accuracy else None,
        "worst_tenth": float(worst[: max(1, -(-len(worst) // 10))].mean()),
        "loss": loss,
        "perplexity": math.exp(min(loss, MAX_LOSS)) if accuracy else None,
        **head,
        "metrics": without_nan(metrics),
        "baseline": without_nan(baseline_metrics(task, parts)),
    }


def without_nan(values: Mapping[str, float]) -> dict[str, float | None]:
    """The same with None where a number is not known."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def evaluation_metrics(scores: Scores, models: Assignment, truth: Groups | None) -> dict[str, Any]:
    """Every metric of one evaluation: the fields of an `EvaluationEvent`."""
    values = dict(zip(scores.clients, client_metrics(scores).values.tolist(), strict=True))
    accuracy = values if scores.task.kind in SHARE_TASKS else {}
    groups = models.groups()
    return {
        **summary(scores),
        "group_count": len(groups),
        "accuracy_by_group": mean_by_group(accuracy, groups),
        "accuracy_by_planted_group": None if truth is None else mean_by_group(accuracy, truth),
        "metric_by_group": mean_by_group(values, groups),
        "metric_by_planted_group": None if truth is None else mean_by_group(values, truth),
        "ari": None if truth is None else rand_index(groups, truth),
    }


def verdict_details(scores: Scores) -> dict[str, object]:
    """What the verdict has beside the metrics: how sure the main one is, and of a classification which class is said.

    interval         the main metric's over clients, at this level; None of fewer than two clients
    confusion        (labels, answers) over the test examples of all clients; of many classes it is left out
    class_counts     of each class: test examples, answers, right ones
    recall           of each class by name: the share of its test examples that is found; of many it is left out
    """
    task = scores.task
    details: dict[str, object] = {
        "class_names": [] if task.labels == "number" else list(task.names),
        "level": LEVEL,
        "interval": interval(scores),
    }
    if task.is_classification and task.count_width and scores.clients:
        counts = scores.counts.sum(axis=0)
        there, _, right = found = class_counts(task, counts)
        details["class_counts"] = [each.tolist() for each in found]
        if task.count <= MAX_RECALLS:
            names = task.names or tuple(map(str, range(task.count)))
            shares = [float(right[label] / there[label]) if there[label] else None for label in range(task.count)]
            details["recall"] = dict(zip(names, shares, strict=True))
        if task.count <= MAX_CONFUSION:
            details["confusion"] = counts.reshape(task.count, task.count).tolist()
    return details


def interval(scores: Scores) -> list[float] | None:
    """Of the main metric, over clients."""
    if len(scores.clients) < 2:
        return None
    task, values = scores.task, client_metrics(scores).values
    width = half_width(pseudo_values(task.kind, values, scores.examples))
    middle = over_clients(task.kind, values, scores.examples)
    if width is None or not math.isfinite(width):
        return None
    return list(within_range(middle, width, metric_kind(task.metric, task)))


def within_range(middle: float, width: float, kind: MetricKind) -> tuple[float, float]:
    """An interval, cut off where a metric cannot be."""
    low, high = middle - width, middle + width
    if kind.unit == "share":
        return max(low, 0.0), min(high, 1.0)
    return (max(low, 0.0) if kind.lower_is_better else low), high


def mean_by_group(accuracy: Mapping[ClientId, float], groups: Groups) -> list[float | None]:
    """The unweighted mean accuracy of each group; None for a group of which no client answered."""
    means: list[float | None] = []
    for members in groups.members:
        known = [accuracy[client] for client in members if client in accuracy]
        means.append(float(np.mean(known)) if known else None)
    return means


def rand_index(found: Groups, truth: Groups) -> float:
    """Adjusted Rand index (Hubert and Arabie, 1985): 1 for the planted groups, about 0 for chance.

    By hand, since scikit-learn takes two seconds to load and every run needs this one number.
    """
    planted, got = truth.labels, found.labels
    clients = [client for client in truth.clients if client in got]
    together = pair_count((planted[client], got[client]) for client in clients)
    in_truth, in_found = (pair_count(labels[client] for client in clients) for labels in (planted, got))
    all_pairs = math.comb(len(clients), 2)
    if in_truth == in_found == together:  # the same groups
        return 1.0
    expected = in_truth * in_found / all_pairs
    return (together - expected) / ((in_truth + in_found) / 2 - expected)


def pair_count(labels: Iterable[object]) -> int:
    """How many pairs have the same label."""
    return sum(math.comb(count, 2) for count in Counter(labels).values())


class Separation:
    """Called with the similarities that a method compares: how far they separate the planted groups."""

    def __init__(self, truth: Groups | None) -> None:
        self._truth = truth
        self.gaps: list[float | None] = []
        """CFL's separation gap of each comparison; None where it cannot be known."""

    def __call__(self, clients: Sequence[ClientId], values: NDArray[np.float32]) -> None:
        alike = Matrix(tuple(clients), values)
        self.gaps.append(None if self._truth is None else separation_gap(alike, self._truth))


@dataclass(frozen=True, eq=False)
class FinalMetrics:
    """The main metric of every client at the end of a run."""

    task: str
    """Its kind."""
    lower_is_better: bool
    clients: tuple[ClientId, ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    """Standard errors; NaN where they are not known."""
    examples: NDArray[np.int64]


def harmed_clients(final: FinalMetrics, baselines: Sequence[FinalMetrics]) -> tuple[ClientId, ...]:
    """The clients that end worse than with one of these others (Local, FedAvg), beyond the noise of their test parts.

    Each client is tested against each of the others: where answers are right or wrong by Fisher's exact test, else by a
    t test with both standard errors. Of the clients that are named at most a twentieth is so by chance.
    """
    tests = [harm_p(final, other) for other in baselines]
    clients = [client for named, _ in tests for client in named]
    p_values = false_discovery(np.concatenate([np.zeros(0), *(p for _, p in tests)]))
    return tuple(sorted({client for client, p in zip(clients, p_values, strict=True) if p <= ALPHA}))


def harm_p(final: FinalMetrics, other: FinalMetrics) -> tuple[list[ClientId], NDArray[np.float64]]:
    """The clients that have both and are tested on as many examples, and how probable each one's loss is by chance."""
    place = {client: number for number, client in enumerate(other.clients)}
    pairs = [(number, place[client]) for number, client in enumerate(final.clients) if client in place]
    mine, theirs = np.array(pairs, np.int64).reshape(len(pairs), 2).T
    known = final.examples[mine] == other.examples[theirs]
    if final.task != "classification":
        known &= np.isfinite(final.errors[mine]) & np.isfinite(other.errors[theirs])
    mine, theirs = mine[known], theirs[known]
    examples = final.examples[mine]
    if final.task == "classification":
        right, other_right = (
            np.rint(found.values[at] * examples).astype(np.int64) for found, at in ((final, mine), (other, theirs))
        )
        p = fewer_right_p(right, other_right, examples)
    else:
        worse_by = (other.values[theirs] - final.values[mine]) * (-1 if final.lower_is_better else 1)
        p = worse_p(worse_by, final.errors[mine], other.errors[theirs], examples)
    return [final.clients[number] for number in mine], p
