"""`lr = "auto"`: a few step sizes are tried for some rounds, and the best goes into the run.

Before the first round some clients train one common model (FedAvg) from the run's own start, once with each step size,
on all but a share of their training examples. The models are tested on that share: no test example is seen. The method
has no part in it, so that all methods on the same data, net and seed get the same step size.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Assignment, ClientId, LocalTraining, Round, Row, generator
from fedclade.fleet import Fleet, Scores
from fedclade.runs.loss_scale import FAR, LossScale, loss_scale, needs_first_loss
from fedclade.runs.significance import SHARE_TASKS
from fedclade.store.events import Event, LrSearchEvent

MAX_CLIENTS = 40  # that try them
MIN_ROUNDS, MAX_ROUNDS = 5, 20  # of each: a fifth of the run's within that
SHARE = 0.2  # of their training examples, which the models are tested on
CLEARLY = 2.0  # standard errors of a difference over clients


@dataclass(frozen=True)
class LrSearch:
    """The step sizes that were tried, the smallest first."""

    values: tuple[float, ...]
    scores: tuple[float | None, ...]
    """Of each the mean over clients: the share that is right, or minus the loss; None where training diverged."""
    lr: float
    """The one that was chosen."""
    rounds: int
    """That each was tried for."""
    clients: int
    """That tried them."""

    def table(self) -> dict[str, object]:
        """As it stands in a verdict."""
        return {**asdict(self), "values": [*self.values], "scores": [*self.scores]}

    def event(self) -> LrSearchEvent:
        """The event of a search."""
        return LrSearchEvent(
            values=self.values, scores=self.scores, lr=self.lr, rounds=self.rounds, clients=self.clients
        )


def search_in(past: Iterable[Event]) -> LrSearch | None:
    """The search of a run that is resumed, from its events; None if there was none."""
    for event in past:
        if isinstance(event, LrSearchEvent) and event.lr is not None:
            values = tuple(value for value in event.values if value is not None)
            return LrSearch(values, event.scores, event.lr, event.rounds, event.clients)
    return None


def search_lr(
    fleet: Fleet, values: Sequence[float], first: Callable[[int], Row], local: LocalTraining, seed: int, rounds: int
) -> LrSearch:
    """Try these step sizes, before a run of so many rounds."""
    everybody = fleet.clients()
    chosen = generator(seed, "lr search").choice(len(everybody), min(MAX_CLIENTS, len(everybody)), replace=False)
    clients = tuple(everybody[number] for number in sorted(chosen))
    length = min(MAX_ROUNDS, max(MIN_ROUNDS, rounds // 5))
    start, task = Assignment.of_one(first(0), clients), fleet.model.task
    before = fleet.validate(start, Round(0, seed, held_out=SHARE)).losses if needs_first_loss(task) else np.zeros(0)
    scale = loss_scale(task, float(np.median(before)) if len(before) else None)
    found: list[dict[ClientId, float]] = []
    for value in values:
        models, now = start, Round(0, seed, local=replace(local, lr=value), held_out=SHARE)
        for number in range(1, length + 1):
            now = replace(now, number=-number)  # no round of the run draws the same
            means = fleet.train_mean(models, now)
            models = Assignment.of_one(means.rows[0], clients)
            if not means.heard:
                break
        found.append(client_scores(fleet.validate(models, now), scale) if means.heard else {})
    means_found = tuple(float(np.mean(list(each.values()))) if each else None for each in found)
    return LrSearch(tuple(values), means_found, values[best_of(found)], length, len(clients))


def client_scores(scores: Scores, scale: LossScale) -> dict[ClientId, float]:
    """The score of each client, more is better; of none if the median one has diverged."""
    losses = np.clip(scores.losses, -scale.far(FAR), scale.far(FAR))
    if not len(losses) or float(np.median(scores.losses)) > scale.far(FAR):
        return {}
    found = scores.mean_scores if scores.task.kind in SHARE_TASKS else -losses
    return dict(zip(scores.clients, found.tolist(), strict=True))


def best_of(found: Sequence[Mapping[ClientId, float]]) -> int:
    """The place of the best: the middle one unless another is better beyond noise; the first where all diverged."""
    usable = [place for place, scores in enumerate(found) if scores]
    if not usable:
        return 0
    best = max(usable, key=lambda place: float(np.mean(list(found[place].values()))))
    middle = len(found) // 2
    return best if not found[middle] or is_clearly_better(found[best], found[middle]) else middle


def is_clearly_better(one: Mapping[ClientId, float], other: Mapping[ClientId, float]) -> bool:
    """Whether clients do better by more than the noise of their differences."""
    gains: NDArray[np.float64] = np.array([one[client] - other[client] for client in one if client in other])
    if len(gains) < 2:
        return bool(gains.sum() > 0)
    return bool(gains.mean() > CLEARLY * gains.std(ddof=1) / len(gains) ** 0.5)
