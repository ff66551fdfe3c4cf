"""How large a loss is: beside that of a guess, by a model that knows nothing."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core.task import Task

FAR = 10.0  # times the loss of a guess; a net that learned noise by heart reaches 10 on test examples


@dataclass(frozen=True)
class LossScale:
    """What counts as a large loss in a run."""

    guess: float | None
    """The loss of a model that knows nothing; None: it is not known, and only numbers that are not finite count."""
    may_be_negative: bool = False

    def far(self, factor: float) -> float:
        """The loss that is so many times that of a guess."""
        if not self.guess:
            return math.inf
        return self.guess + (factor - 1) * abs(self.guess)

    def mean(self, losses: NDArray[np.float64]) -> float:
        """The mean of clients' losses, each bounded, so that what one of them says cannot decide alone."""
        far = self.far(FAR)
        if far == math.inf:
            return float(np.median(losses))
        return float(np.clip(losses, -far if self.may_be_negative else 0.0, far).mean())


def needs_first_loss(task: Task) -> bool:
    """Whether only the initial models tell the loss of a guess."""
    return task.kind in ("next-word", "reconstruction", "own")


def loss_scale(task: Task, first_loss: float | None = None) -> LossScale:
    """The scale of a task's loss. Labels that are numbers are standardised: their mean has a loss of 1."""
    if needs_first_loss(task):
        return LossScale(first_loss, may_be_negative=task.kind == "own")
    guesses = {"classification": math.log(max(task.count, 2)), "multi-label": math.log(2)}
    return LossScale(guesses.get(task.kind, 1.0))
