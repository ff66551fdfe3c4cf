"""What a run is judged by. Only here does the planted truth meet what a method found."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.fleet import Scores
from fedclade.nouns import ClientId, Groups
from fedclade.relate.distances import Matrix
from fedclade.relate.separation import separation_gap

FIGURES = ("accuracy", "accuracy_weighted", "accuracy_variance", "worst_tenth", "loss", "perplexity")

LARGEST_LOSS = 700.0  # whose exp is still a number


def summary(scores: Scores) -> dict[str, float | None]:
    """The figures of one evaluation, over the clients that answered; None if nobody did.

    accuracy            unweighted mean over clients, 0 to 1
    accuracy_weighted   the same weighted by test examples
    accuracy_variance   population variance over clients of the accuracy in percent (FLT's fairness)
    worst_tenth         mean of the worst tenth of the clients, at least one
    loss                unweighted mean of the clients' test losses
    perplexity          exp of that: a model that guesses among so many words, or labels, has this loss
    """
    if not scores.clients:
        return dict.fromkeys(FIGURES)
    accuracy = scores.accuracy
    worst = np.sort(accuracy)[: max(1, -(-len(accuracy) // 10))]
    return {
        "accuracy": float(accuracy.mean()),
        "accuracy_weighted": float(scores.correct.sum() / scores.examples.sum()),
        "accuracy_variance": float((100 * accuracy).var()),
        "worst_tenth": float(worst.mean()),
        "loss": float(scores.losses.mean()),
        "perplexity": math.exp(min(float(scores.losses.mean()), LARGEST_LOSS)),
    }


def by_group(accuracy: Mapping[ClientId, float], groups: Groups) -> list[float | None]:
    """The unweighted mean accuracy of each group; None for one of whom nobody answered."""
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
    together = pairs((planted[client], got[client]) for client in clients)
    in_truth, in_found = pairs(planted[client] for client in clients), pairs(got[client] for client in clients)
    all_pairs = math.comb(len(clients), 2)
    if in_truth == in_found == together:  # the same groups
        return 1.0
    chance = in_truth * in_found / all_pairs
    return (together - chance) / ((in_truth + in_found) / 2 - chance)


def pairs(labels: Iterable[object]) -> int:
    """How many pairs have the same label."""
    return sum(math.comb(count, 2) for count in Counter(labels).values())


class Separation:
    """Told how alike clients are by what a method compares: how well planted groups could be told apart by it."""

    def __init__(self, truth: Groups | None) -> None:
        self._truth = truth
        self.gaps: list[float | None] = []
        """CFL's separation gap of each comparison; None where it cannot be known."""

    def __call__(self, clients: Sequence[ClientId], values: NDArray[np.float32]) -> None:
        alike = Matrix(tuple(clients), values)
        self.gaps.append(None if self._truth is None else separation_gap(alike, self._truth))


def harmed(accuracy: Mapping[ClientId, float], baselines: Sequence[Mapping[ClientId, float]]) -> tuple[ClientId, ...]:
    """The clients that end worse than they do with one of these others (Local, FedAvg)."""
    return tuple(
        sorted(
            client
            for client, reached in accuracy.items()
            if any(reached < other.get(client, -1.0) for other in baselines)
        )
    )
