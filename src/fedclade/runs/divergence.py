"""Training that diverges: what says so, and what to do about it.

A client's loss is compared with that of a guess. Test losses alone would mislead: a model that is overfitted is wrong
with great confidence on a few examples. So a client has diverged where its test loss is far above that of a guess and
clients do not fit their training examples either; or where it is so far above that no overfitting explains it. Nothing
is decided by what one client says: medians and numbers of clients count.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from fedclade.core import Diverged
from fedclade.fleet import Ledger, Scores
from fedclade.runs.experiment import Experiment
from fedclade.runs.loss_scale import FAR, LossScale
from fedclade.store.events import DivergedEvent, EvaluationEvent, Event, RoundEvent

FAR_FITTED = 30.0  # times the loss of a guess, where training examples are fitted
MIN_SHARE = 0.25  # of the clients that were evaluated
MAX_HOPELESS_ROUNDS = 10  # in a row: then a run is stopped
MAX_SILENT_ROUNDS = 5  # after so many rounds in a row without a usable reply a run stops, whatever the reason
TRAINING_VERBS = ("train", "train_best")
SAFE_LR = {"sgd": 0.1, "adam": 0.01, "adamw": 0.01}  # advised where a larger one diverged


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


def diverged_rounds(past: Iterable[Event]) -> dict[int, str]:
    """The rounds whose models have diverged, and why."""
    return {event.round: event.reason for event in past if isinstance(event, DivergedEvent)}


def advice(experiment: Experiment, lr: float) -> str:
    """What to do about it, where this was the step size."""
    safe = SAFE_LR[experiment.local.optimizer.kind]
    ways = [f"set a smaller local.lr, {safe if lr > safe else lr / 10:g} at the most (it was {lr:g})"]
    if experiment.data.get("prepare") == "none":
        ways.append('prepare = "standard"')
    if not experiment.lr_values:
        ways.append('local.lr = "auto"')
    clip = "" if experiment.local.clip_norm else "; if that diverges too, clip gradients: local.clip_norm = 1"
    return ", or ".join(ways) + clip


def check_divergence(results: Iterable[Mapping[str, object]]) -> None:
    """Raise `Diverged` if one of these verdicts says that its run has."""
    found = [result for result in results if result.get("diverged") is True]
    if found:
        why = found[0].get("divergence")
        reason, do = (str(why.get(name)) for name in ("reason", "advice")) if isinstance(why, Mapping) else ("", "")
        where = f"{found[0].get('run')}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")
        raise Diverged("training diverged", where=where, got=reason, need="losses that fall", do=do)
