"""The labels of a regression: numbers, standardised by one middle and one scale over the training rows of all clients.

Middle and scale follow from sums of the clients. So a model is the same in whatever unit the label is, step sizes fit,
and results are given in the label's own unit again.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.core.task import LABEL_BINS, LossName, Task


def number_task(
    labels: Iterable[NDArray[np.float64]], where: str, *, loss: LossName = "default", name: str = ""
) -> Task:
    """The regression of these training labels, one array of each client; `name` is that of the label."""
    parts = list(labels)
    count = sum(len(part) for part in parts)
    centre = math.fsum(float(part.sum()) for part in parts) / count
    with np.errstate(over="ignore"):
        scale = math.sqrt(math.fsum(float(((part - centre) ** 2).sum()) for part in parts) / count)
    if not math.isfinite(scale):
        raise InputError("labels are too large", where=where, got=f"mean {centre:g}", need="numbers below 1e150")
    if not scale > 1e-12 * abs(centre):
        raise InputError("all labels are the same", where=where, got=f"{centre:g} everywhere", need="different numbers")
    made = Task(
        kind="regression", labels="number", names=(name,) if name else (), loss=loss, centre=centre, scale=scale
    )
    return with_edges(made, [standardise(made, part) for part in parts])


def standardise(task: Task, labels: NDArray[np.float64]) -> NDArray[np.float32]:
    """Labels as a task has them."""
    return ((labels - task.centre) / task.scale).astype(np.float32)


def with_edges(task: Task, labels: Sequence[NDArray[np.float32]], bins: int = LABEL_BINS) -> Task:
    """The task with edges between intervals that hold equally many of these labels."""
    whole = np.concatenate(labels)
    edges = np.unique(np.quantile(whole, np.arange(1, bins) / bins, method="higher"))
    higher = whole[whole > whole.min()]  # never empty: labels differ
    inside = edges[edges > whole.min()] if (edges > whole.min()).any() else higher.min(keepdims=True)
    return replace(task, edges=tuple(inside.astype(np.float64).tolist()))
