"""A task of the user's own: a loss, and metrics, as functions. What they give is checked where it is used."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from torch import Tensor

from fedclade.core import InputError
from fedclade.core.task import Task

LossFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""From outputs and labels of some examples to their mean loss."""
MetricFunction: TypeAlias = Callable[[Tensor, Tensor], float | Tensor]
"""From outputs and labels of all test examples of a client to a number."""


@dataclass(frozen=True, eq=False)
class OwnTask:
    """A task of the user's own: a loss, and metrics by name, the main one first.

    The loss gets outputs and labels as the federation has them, and gives a tensor with one number: the mean over the
    examples. Outputs are (examples, ...), and (examples,) where a net gives one number for each. A metric gets the same
    of all test examples of a client, and gives a finite number; that of all clients is the mean, weighted by examples.
    The labels of a regression are standardised: `labels * federation.task.scale + federation.task.centre` are those
    that were given.
    """

    loss: LossFunction
    metrics: Mapping[str, MetricFunction] = field(default_factory=dict)
    lower_is_better: Sequence[str] = ()
    """The metrics of which less is better."""
    outputs: int | None = None
    """How many numbers a net with a name gives for an example; None: as many as classes or flags, or 1."""

    def __post_init__(self) -> None:
        need = "functions of (outputs, labels)"
        metrics: object = self.metrics
        if not isinstance(metrics, Mapping):
            got = type(metrics).__name__
            raise InputError("an own task is not usable", where="task.metrics", got=got, need="{name: function}")
        wrong = [name for name, metric in self.metrics.items() if not callable(metric)]
        if not callable(self.loss) or wrong:
            got = f"metric {wrong[0]!r}: {self.metrics[wrong[0]]!r}" if wrong else repr(self.loss)
            raise InputError("an own task is not usable", where="task", got=got, need=need)
        if "loss" in self.metrics:
            need = "another name: the loss is told anyway"
            raise InputError("a metric has the name of the loss", where="task.metrics", got="'loss'", need=need)
        lower = self.lower_is_better
        object.__setattr__(self, "lower_is_better", (lower,) if isinstance(lower, str) else tuple(lower))
        if odd := sorted(set(self.lower_is_better) - set(self.metrics)):
            raise InputError("there is no such metric", where="task.lower_is_better", got=repr(odd[0]), need="its name")

    def task_for(self, task: Task) -> Task:
        """The task of a federation with these labels."""
        names, lower = tuple(self.metrics), tuple(self.lower_is_better)
        return replace(task, kind="own", loss="default", metrics=names, lower_is_better=lower)

    def mean_loss(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """What the loss gives; an error unless that is a tensor with one number."""
        outputs = without_single_column(outputs)
        try:
            loss = self.loss(outputs, labels)
        except Exception as error:
            raise function_error("the loss of an own task", "task.loss", error, outputs, labels) from error
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            got = f"a tensor {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            need = "a tensor with one number, the mean over the examples"
            raise InputError("the loss of an own task is not one number", where="task.loss", got=got, need=need)
        return loss.reshape(())

    def measure(self, outputs: Tensor, labels: Tensor) -> list[float]:
        """What each metric gives; an error unless these are finite numbers."""
        outputs = without_single_column(outputs)
        return [measure(name, metric, outputs, labels) for name, metric in self.metrics.items()]


def without_single_column(outputs: Tensor) -> Tensor:
    """(examples, 1) as (examples,): less labels (examples,) it would become (examples, examples) without a word."""
    return outputs.squeeze(1) if outputs.ndim == 2 else outputs


def measure(name: str, metric: MetricFunction, outputs: Tensor, labels: Tensor) -> float:
    """What a metric gives; an error unless it is a finite number."""
    where = f"task.metrics, {name!r}"
    try:
        value = metric(outputs, labels)
    except Exception as error:
        raise function_error("a metric of an own task", where, error, outputs, labels) from error
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        number = math.nan
    if not math.isfinite(number):
        got, need = str(value)[:100], "a finite number for the test examples of any client"
        do = "let it give another one where it is not defined, such as 0.5"
        raise InputError("a metric of an own task gives no number", where=where, got=got, need=need, do=do)
    return number


def function_error(what: str, where: str, error: Exception, outputs: Tensor, labels: Tensor) -> InputError:
    """The error of a user's function that raised one."""
    got = f"{type(error).__name__}: {error}"[:300]
    form = f"outputs {tuple(outputs.shape)} and labels {tuple(labels.shape)} {labels.dtype}"
    return InputError(f"{what} fails", where=where, got=got, need=f"a function of {form}")


def check_loss(own: OwnTask, outputs: Tensor, labels: Tensor) -> None:
    """An error unless a model can be trained by the loss of these outputs."""
    loss = own.mean_loss(outputs, labels)
    if not math.isfinite(loss.item()):
        got, need = str(loss.item()), "a finite number for an initial model"
        raise InputError("the loss of an own task is not finite", where="task.loss", got=got, need=need)
    if not loss.requires_grad:
        need = "a function of the outputs by torch's operations, with no detach(), item() or numpy()"
        raise InputError("the loss of an own task has no gradient", where="task.loss", got=str(loss), need=need)
    try:
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    except RuntimeError as error:
        raise function_error("the gradient of an own task's loss", "task.loss", error, outputs, labels) from error
