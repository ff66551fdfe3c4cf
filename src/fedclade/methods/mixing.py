"""The mixing step: how much the absent clients of a model, those that did not take part, weigh in its new value.

`participants`: nothing (McMahan et al., 2017; FLT's Algorithm 1). The new model is the mean of the heard clients.

`stale`: their examples, at the model that they have. FLT's published code computes this: with a fifth of the clients
taking part, a round moves the model by a fifth of the way only. It is here to reproduce printed numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Assignment, ClientId, Rows
from fedclade.fleet import Fleet, Means

Absent = Literal["participants", "stale"]


def mix_rows(means: Means, absent: Absent, models: Callable[[], Assignment], fleet: Fleet) -> Rows:
    """The new rows. `models` gives the models of all clients that are there; it is called for `stale` alone."""
    return means.rows if absent == "participants" else stale_rows(models(), means, fleet.examples)


def stale_rows(
    models: Assignment, means: Means, examples: Callable[[Sequence[ClientId]], Mapping[ClientId, int]]
) -> Rows:
    """The mean of the heard clients' models and of the old ones of all others, by examples."""
    clients = models.clients
    rows = np.fromiter(models.row_by_client.values(), np.int64, len(clients))
    counts = np.fromiter(map(examples(clients).__getitem__, models.row_by_client), np.int64, len(clients))
    totals = np.bincount(rows, weights=counts, minlength=models.model_count)
    weight = np.minimum(means.examples / np.maximum(totals, 1), 1)  # a client may claim more than it joined with
    return interpolate_rows(models.rows, means.rows, weight)


def interpolate_rows(old: Rows, new: Rows, weight: NDArray[np.float64]) -> Rows:
    """Rows at this share (0 to 1) of the way from each old row to the new one, in double precision."""
    there = old.astype(np.float64)
    return (there + weight[:, None] * (new.astype(np.float64) - there)).astype(np.float32)


def weighted_mean(rows: Rows, examples: Sequence[int]) -> NDArray[np.float64]:
    """The mean of rows, weighted by examples, in double precision and row after row, as `train_mean` computes it."""
    total = np.zeros(rows.shape[1], np.float64)
    for row, weight in zip(rows, examples, strict=True):
        total += np.multiply(row, weight, dtype=np.float64)
    return total / sum(examples)
