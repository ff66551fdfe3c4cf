"""The metrics of a run. Only here are planted groups compared with those that a method found."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.distances import Matrix
from fedclade.clustering.separation import separation_gap
from fedclade.core import Assignment, ClientId, Groups
from fedclade.fleet import Scores

METRICS = ("accuracy", "accuracy_weighted", "accuracy_variance", "worst_tenth", "loss", "perplexity")

MAX_LOSS = 700.0  # the exp of more is not a number


def summary(scores: Scores) -> dict[str, float | None]:
    """The metrics of one evaluation, over the clients that answered; None if nobody did.

    accuracy            unweighted mean over clients, 0 to 1
    accuracy_weighted   the same weighted by test examples
    accuracy_variance   population variance over clients of the accuracy in percent (FLT's fairness)
    worst_tenth         mean of the worst tenth of the clients, at least one
    loss                unweighted mean of the clients' test losses
    perplexity          exp of that: a model that guesses among so many words, or labels, has this loss
    """
    if not scores.clients:
        return dict.fromkeys(METRICS)
    accuracy = scores.accuracy
    worst = np.sort(accuracy)[: max(1, -(-len(accuracy) // 10))]
    return {
        "accuracy": float(accuracy.mean()),
        "accuracy_weighted": float(scores.correct.sum() / scores.examples.sum()),
        "accuracy_variance": float((100 * accuracy).var()),
        "worst_tenth": float(worst.mean()),
        "loss": float(scores.losses.mean()),
        "perplexity": math.exp(min(float(scores.losses.mean()), MAX_LOSS)),
    }


def evaluation_metrics(scores: Scores, models: Assignment, truth: Groups | None) -> dict[str, Any]:
    """Every metric of one evaluation: the fields of an `EvaluationEvent`."""
    accuracy = dict(zip(scores.clients, scores.accuracy.tolist(), strict=True))
    groups = models.groups()
    return {
        **summary(scores),
        "group_count": len(groups),
        "accuracy_by_group": mean_by_group(accuracy, groups),
        "accuracy_by_planted_group": None if truth is None else mean_by_group(accuracy, truth),
        "ari": None if truth is None else rand_index(groups, truth),
    }


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


def harmed_clients(
    accuracy: Mapping[ClientId, float], baselines: Sequence[Mapping[ClientId, float]]
) -> tuple[ClientId, ...]:
    """The clients that end worse than they do with one of these others (Local, FedAvg)."""
    worse = {client for other in baselines for client, value in accuracy.items() if value < other.get(client, -1.0)}
    return tuple(sorted(worse))
