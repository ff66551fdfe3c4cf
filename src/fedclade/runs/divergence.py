"""Training that diverges: what says so, and what to do about it.

A client's loss is compared with that of a guess. Test losses alone would mislead: a model that is overfitted is wrong
with great confidence on a few examples. So a client has diverged where its test loss is far above that of a guess and
clients do not fit their training examples either; or where it is so far above that no overfitting explains it. Nothing
is decided by what one client says: medians and numbers of clients count.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from fedclade.core import Diverged
from fedclade.core.task import Task
from fedclade.fleet import Ledger, Scores
from fedclade.runs.experiment import Experiment
from fedclade.store.events import DivergedEvent, EvaluationEvent, Event, RoundEvent

FAR = 10.0  # times the loss of a guess; a net that learned noise by heart reaches 10 on test examples
FAR_FITTED = 30.0  # the same where training examples are fitted
MIN_SHARE = 0.25  # of the clients that were evaluated
MAX_HOPELESS_ROUNDS = 10  # in a row: then a run is stopped
MAX_SILENT_ROUNDS = 5  # after so many rounds in a row without a usable reply a run stops, whatever the reason
TRAINING_VERBS = ("train", "train_best")
SAFE_LR = 0.1  # advised where a larger one diverged: no net and data of ours diverge with it


@dataclass(frozen=True)
class LossScale:
    """What counts as a large loss in a run."""

    guess: float | None
    """The loss of a model that knows nothing; None: it is not known, and only numbers that are not finite count."""

    def far(self, factor: float) -> float:
        """The loss that is so many times that of a guess. An own loss may be below 0."""
        if not self.guess:
            return math.inf
        return self.guess + (factor - 1) * abs(self.guess)


def needs_first_loss(task: Task) -> bool:
    """Whether only the initial models tell the loss of a guess."""
    return task.kind in ("next-word", "reconstruction", "own")


def loss_scale(task: Task, first_loss: float | None = None) -> LossScale:
    """The scale of a task's loss. Labels that are numbers are standardised: their mean has a loss of 1."""
    if needs_first_loss(task):
        return LossScale(first_loss)
    guesses = {"classification": math.log(max(task.count, 2)), "multi-label": math.log(2)}
    return LossScale(guesses.get(task.kind, 1.0))


def median_training_loss(ledger: Ledger) -> float | None:
    """The median of what clients said of their training in a round; None if nobody trained."""
    return float(np.median(list(ledger.losses.values()))) if ledger.losses else None


class DivergenceWatch:
    """Rounds in a row that lead nowhere. A resumed run counts on from its events."""

    def __init__(self, scale: LossScale, past: Iterable[Event] = ()) -> None:
        self.scale = scale
        self.rounds = 0
        self.hopeless = 0
        """Rounds in a row whose training losses were far above that of a guess."""
        self.silent = 0
        """Rounds in a row without a usable reply."""
        for event in past:
            if isinstance(event, RoundEvent):
                self.add(event)

    def add(self, event: RoundEvent) -> None:
        """Count one more round."""
        self.rounds += 1
        self.silent = 0 if event.took_part else self.silent + 1
        far = event.training_loss is not None and event.training_loss > self.scale.far(FAR)
        self.hopeless = self.hopeless + 1 if far else 0

    @property
    def is_silent(self) -> bool:
        """Whether there has been no usable reply for so long that no single client is at fault; or never."""
        return self.silent >= min(self.rounds, MAX_SILENT_ROUNDS)

    @property
    def gives_up(self) -> bool:
        """Whether it makes no sense to go on, if the models have diverged."""
        return self.hopeless >= MAX_HOPELESS_ROUNDS or self.silent >= MAX_SILENT_ROUNDS


def divergence_of(watch: DivergenceWatch, scores: Scores, ledger: Ledger) -> str:
    """What shows that training has diverged, in a round that was evaluated; empty if nothing does."""
    lost = {each.client for each in ledger.refused if each.overflow and each.verb in TRAINING_VERBS}
    asked, least = len(lost | ledger.trained), min(2, len(scores.clients))
    if lost and 2 * len(lost) >= asked and (len(lost) >= least or watch.is_silent):
        return f"models of {len(lost)} of {asked} clients with numbers that are not finite or too large"
    scale = watch.scale
    unknown = sum(each.overflow and each.verb == "evaluate" for each in ledger.refused)
    trained = median_training_loss(ledger)
    fits = trained is not None and scale.guess is not None and trained < scale.guess
    factor = FAR_FITTED if fits else FAR
    limit = scale.far(factor)
    count, found = len(scores.clients) + unknown, int((scores.losses > limit).sum()) + unknown
    if not found or found < max(min(2, count), MIN_SHARE * count):
        return ""
    known = f" (the median is {float(np.median(scores.losses)):.3g})" if scores.clients else ""
    above = f"over {limit:.3g}, {factor:g} times that of a guess," if limit < math.inf else "not finite"
    return f"a loss {above} at {found} of {count} clients{known}"


def first_loss(past: Iterable[Event]) -> float | None:
    """The loss of the initial models, where it was measured."""
    losses = (event.loss for event in past if isinstance(event, EvaluationEvent) and event.round == 0)
    return next(losses, None)


def reason_at(number: int, past: Iterable[Event]) -> str:
    """Why the models of this round have diverged, as the events say; empty if they have not."""
    reasons = [event.reason for event in past if isinstance(event, DivergedEvent) and event.round == number]
    return reasons[-1] if reasons else ""


def advice(experiment: Experiment) -> str:
    """What to do about it."""
    lr = experiment.local.lr
    smaller = SAFE_LR if lr > SAFE_LR else lr / 10
    raw = ', or prepare = "standard"' if experiment.data.get("prepare") == "none" else ""
    return f"set a smaller local.lr{raw}: {smaller:g} at the most (it was {lr:g})"


def check_divergence(results: Iterable[Mapping[str, object]]) -> None:
    """Raise `Diverged` if one of these verdicts says that its run has."""
    found = [result for result in results if result.get("diverged") is True]
    if found:
        why = found[0].get("divergence")
        reason, do = (str(why.get(name)) for name in ("reason", "advice")) if isinstance(why, Mapping) else ("", "")
        where = f"{found[0].get('run')}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")
        raise Diverged("training diverged", where=where, got=reason, need="losses that fall", do=do)
