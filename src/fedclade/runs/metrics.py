"""What a run is judged by. Only here does the planted truth meet what a method found."""

from collections.abc import Mapping, Sequence

import numpy as np

from fedclade.fleet.protocol import Scores
from fedclade.nouns import ClientId, Groups

FIGURES = ("accuracy", "accuracy_weighted", "accuracy_variance", "worst_tenth", "loss")


def summary(scores: Scores) -> dict[str, float | None]:
    """The figures of one evaluation, over the clients that answered; None if nobody did.

    accuracy            unweighted mean over clients, 0 to 1
    accuracy_weighted   the same weighted by test examples
    accuracy_variance   population variance over clients of the accuracy in percent (FLT's fairness)
    worst_tenth         mean of the worst tenth of the clients, at least one
    loss                unweighted mean of the clients' test losses
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
    }


def by_group(accuracy: Mapping[ClientId, float], groups: Groups) -> list[float | None]:
    """The unweighted mean accuracy of each group; None for one of whom nobody answered."""
    means: list[float | None] = []
    for members in groups.members:
        known = [accuracy[client] for client in members if client in accuracy]
        means.append(float(np.mean(known)) if known else None)
    return means


def rand_index(found: Groups, truth: Groups) -> float:
    """Adjusted Rand index: 1 for the planted groups, about 0 for chance."""
    from sklearn.metrics import adjusted_rand_score  # 2 s: only when asked for

    planted, got = truth.labels, found.labels
    clients = [client for client in truth.clients if client in got]
    return float(adjusted_rand_score([planted[client] for client in clients], [got[client] for client in clients]))


def harmed(accuracy: Mapping[ClientId, float], baselines: Sequence[Mapping[ClientId, float]]) -> tuple[ClientId, ...]:
    """The clients that end worse than they do with one of these others (Local, FedAvg)."""
    return tuple(
        sorted(
            client
            for client, reached in accuracy.items()
            if any(reached < other.get(client, -1.0) for other in baselines)
        )
    )
