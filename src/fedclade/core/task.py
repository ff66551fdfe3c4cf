"""A task: what is learned, what labels look like, and by which metrics a model is judged. Plain data.

    classification   one of several classes for each example: labels (n,) int64
    regression       a number for each example: labels (n,) float32, standardised; results are in the label's own unit
    multi-label      which of several flags an example has: labels (n, flags) uint8
    next-word        each next word of a text: labels are not used
    reconstruction   the inputs themselves: labels are not used
    own              a loss function of the user's, and metrics of the user's, on labels of any of these forms

A task belongs to a federation and travels to sites with every message; what of it takes torch is in
`fedclade.nets.losses`.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.core.column_names import ColumnNames
from fedclade.core.errors import InputError
from fedclade.core.settings import settings

TaskKind: TypeAlias = Literal["classification", "regression", "multi-label", "next-word", "reconstruction", "own"]
TaskChoice: TypeAlias = Literal["auto", "classification", "regression", "multi-label", "reconstruction"]
"""What is said of a user's own data."""
LabelForm: TypeAlias = Literal["class", "number", "flags"]
LossName: TypeAlias = Literal["default", "mse", "huber"]
Labels: TypeAlias = NDArray[Any]  # of three types
"""(n,) int64 or float32, or (n, flags) uint8."""
MAX_CONFUSION = 64  # classes: of more, only each class's own counts are sent and no confusion matrix
LABEL_BINS = 3  # kinds of labels of a regression: intervals with about as many examples each
MAX_NUMBER = 3.0  # deviations: numbers farther out count as so far where groups are looked for
MAX_CLASSES_COUNTED = 10_000  # classes: of more, only how many examples are right


@dataclass(frozen=True)
class MetricKind:
    """How a metric is read."""

    label: str
    """In tables and plots."""
    lower_is_better: bool = False
    unit: Literal["share", "number", "label"] = "number"
    """A share from 0 to 1, shown in percent; a number; or a number in the label's unit."""


METRIC_KINDS: dict[str, MetricKind] = {
    "accuracy": MetricKind("accuracy", unit="share"),
    "balanced_accuracy": MetricKind("balanced accuracy", unit="share"),
    "macro_f1": MetricKind("macro F1", unit="share"),
    "auc": MetricKind("AUC", unit="share"),
    "exact_match": MetricKind("exact match", unit="share"),
    "log_loss": MetricKind("log loss", lower_is_better=True),
    "perplexity": MetricKind("perplexity", lower_is_better=True),
    "rmse": MetricKind("RMSE", lower_is_better=True, unit="label"),
    "mae": MetricKind("MAE", lower_is_better=True, unit="label"),
    "r2": MetricKind("R2"),
    "mse": MetricKind("mean squared error", lower_is_better=True),
    "loss": MetricKind("loss", lower_is_better=True),
}
METRICS_OF: dict[TaskKind, tuple[str, ...]] = {
    "classification": ("accuracy", "balanced_accuracy", "macro_f1", "auc", "log_loss"),
    "regression": ("rmse", "mae", "r2"),
    "multi-label": ("accuracy", "macro_f1", "exact_match", "auc", "log_loss"),
    "next-word": ("accuracy", "perplexity"),
    "reconstruction": ("mse",),
    "own": (),
}
"""The main metric first."""
LABEL_FORMS: dict[TaskKind, LabelForm] = {"classification": "class", "regression": "number", "multi-label": "flags"}
"""Of the tasks that allow only one."""


@settings
class Task:
    """What is learned."""

    kind: TaskKind = "classification"
    count: Annotated[int, Field(ge=1, le=10**9)] = 1
    """Of classes, or of flags; 1 of a number."""
    labels: LabelForm = "class"
    """The form of labels."""
    names: ColumnNames = ()
    """Of the classes or the flags, where they have some; of a number, the column's."""
    loss: LossName = "default"
    """Of a regression: `mse`, the default, or `huber`, which counts errors beyond one deviation of the label less."""
    centre: float = 0.0
    """Of a number: labels are (value - centre) / scale."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    edges: Annotated[tuple[float, ...], Field(max_length=1000)] = ()
    """Of a number: where its range is cut into intervals, which count as classes where groups are looked for."""
    metrics: ColumnNames = ()
    """Of an own task: the names of its metrics, the main one first."""
    lower_is_better: ColumnNames = ()
    """Of an own task: the metrics of which less is better."""

    def __post_init__(self) -> None:
        if self.labels != LABEL_FORMS.get(self.kind, self.labels):
            got, need = f"labels {self.labels!r}", f"{LABEL_FORMS[self.kind]!r}"
            raise InputError(f"a task of {self.kind} has other labels", where="task", got=got, need=need)
        if list(self.edges) != sorted(set(self.edges)):
            raise InputError("the edges of a label do not rise", where="task.edges", need="rising numbers")

    @property
    def label_kinds(self) -> int:
        """How many kinds of labels are told apart where groups are looked for: no flag at all is one more kind."""
        if self.labels == "number":
            return len(self.edges) + 1
        return self.count + (self.labels == "flags")

    @property
    def kind_names(self) -> tuple[str, ...]:
        """The kinds of labels in words, those of a number in its own unit; none where all labels are alike."""
        if self.labels == "number":
            bounds = [f"{edge * self.scale + self.centre:.4g}" for edge in self.edges]
            between = [f"{low} to {high}" for low, high in pairwise(bounds)]
            return (f"under {bounds[0]}", *between, f"from {bounds[-1]}") if bounds else ()
        names = self.names or tuple(str(number) for number in range(self.count))
        if self.labels == "flags":
            return (*names, "no flag")
        return names if self.count > 1 else ()

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics, the main one first."""
        return (*(self.metrics if self.kind == "own" else METRICS_OF[self.kind]), "loss")

    @property
    def metric(self) -> str:
        """The main metric: what clients and methods are compared by."""
        return self.metric_names[0]

    @property
    def is_classification(self) -> bool:
        return self.kind == "classification"

    @property
    def count_width(self) -> int:
        """How many whole numbers a client counts on its test examples: see `fedclade.core.evaluation`."""
        if self.is_classification and self.count <= MAX_CLASSES_COUNTED:
            return self.count**2 if self.count <= MAX_CONFUSION else 3 * self.count
        return 4 * self.count + 1 if self.kind == "multi-label" else 0

    @property
    def sum_width(self) -> int:
        """How many sums it adds up."""
        if self.is_classification:
            return self.count if self.count <= MAX_CONFUSION else 0
        widths: dict[TaskKind, int] = {"multi-label": self.count, "regression": 5, "next-word": 2, "reconstruction": 2}
        return len(self.metrics) if self.kind == "own" else widths[self.kind]

    def kinds_of(self, labels: Labels) -> NDArray[np.bool_]:
        """(examples, label kinds): which kinds of label each example has."""
        if self.labels == "flags":
            return np.concatenate([labels > 0, ~labels.any(axis=1, keepdims=True)], axis=1)
        numbers = np.digitize(labels, self.edges) if self.labels == "number" else labels
        return np.asarray(np.eye(self.label_kinds, dtype=bool)[numbers])

    def numbers_of(self, labels: Labels) -> NDArray[np.float64] | None:
        """(examples,) the numbers that are learned, as groups are looked for by them; None of another form of label."""
        if self.labels != "number":
            return None
        return np.clip(labels.astype(np.float64), -MAX_NUMBER, MAX_NUMBER)

    def check_labels(self, labels: NDArray[np.generic], where: str) -> None:
        """An error unless these can be labels of this task."""
        if self.labels == "class":
            good = labels.dtype == np.int64 and labels.ndim == 1
            need = f"int64 (examples,) from 0 to {self.count - 1}"
            good = good and not (len(labels) and (int(labels.min()) < 0 or int(labels.max()) >= self.count))
        elif self.labels == "number":
            good, need = labels.dtype == np.float32 and labels.ndim == 1, "float32 (examples,)"
        else:
            good, need = (
                labels.dtype == np.uint8 and labels.shape[1:] == (self.count,),
                f"uint8 (examples, {self.count})",
            )
        if not good:
            got = f"{labels.dtype} {labels.shape}"
            if labels.dtype == np.int64 and labels.ndim == 1 and len(labels):
                got = f"{labels.min()} to {labels.max()}"
            raise InputError("labels do not fit the task", where=where, got=got, need=need)


def metric_kind(name: str, task: Task | None = None) -> MetricKind:
    """How a metric is read; an own one as a number, of which more is better unless its task says otherwise."""
    if task is not None and name in task.metrics:
        return MetricKind(name, lower_is_better=name in task.lower_is_better)
    return METRIC_KINDS.get(name, MetricKind(name))


def kind_of_metric(task: str, name: str, lower_is_better: Collection[str]) -> MetricKind:
    """How a metric is read of which only this is known; one of an own task by its own name, whatever that is here."""
    known = MetricKind(name) if task == "own" else METRIC_KINDS.get(name, MetricKind(name))
    return replace(known, lower_is_better=name in lower_is_better)
