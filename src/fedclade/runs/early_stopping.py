"""Early stopping: a run ends where its models no longer improve on examples that nothing was trained on.

Each client sets a share of its training examples aside. After every evaluated round it takes the loss of its model on
them; the mean over clients says which round was the best. Test examples have no part in it.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from fedclade.core import Round, settings
from fedclade.fleet import Scores
from fedclade.runs.loss_scale import LossScale


@settings
class EarlyStopping:
    """When a run ends before its last round. Its models are those of the best round."""

    share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Of its training examples, what each client sets aside for validation, at least one; nothing is trained on it."""
    patience: Annotated[int, Field(ge=1, le=10**9)] = 20
    """Rounds without a smaller validation loss after which the run ends; evaluated rounds count."""
    min_rounds: Annotated[int, Field(ge=0, le=10**9)] = 0
    """It does not end before this round."""


@dataclass(frozen=True)
class BestRound:
    """The evaluated round with the smallest validation loss so far."""

    round: int = 0
    loss: float | None = None
    """None: no client has validated a model yet."""

    def after(self, number: int, loss: float | None) -> "BestRound":
        """The best round when this one is known too; of equal ones the first."""
        is_better = loss is not None and (self.loss is None or loss < self.loss)
        return BestRound(number, loss) if is_better else self


def validation_loss(scale: LossScale, scores: Scores) -> float | None:
    """The mean over clients of what they said; None if nobody said anything."""
    return scale.mean(scores.losses) if scores.clients else None


def end_reason(best: BestRound, last: int, rounds: int) -> str:
    """Why a run of so many rounds has ended after this one."""
    return "all rounds were played" if last == rounds else f"no smaller validation loss for {last - best.round} rounds"


def has_ended(how: EarlyStopping | None, best: BestRound, now: Round) -> bool:
    """Whether a run ends after this round."""
    if how is None or not now.evaluated:
        return False
    return now.number >= how.min_rounds and now.number - best.round >= how.patience
