"""The mixing step: what the clients of a model that did not take part weigh in its new value.

`participants`: nothing (McMahan et al., 2017; FLT's Algorithm 1). The new model is the mean of those who answered.

`stale`: their examples, at the model they have had since last time. So computes FLT's published code: with a fifth of
the clients taking part, a round moves the model by a fifth of the way only. It is here to reproduce printed figures.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.fleet import Means
from fedclade.nouns import Assignment, ClientId, Rows

Absent = Literal["participants", "stale"]


def mixed(models: Assignment, means: Means, examples: Mapping[ClientId, int], absent: Absent) -> Rows:
    """The new rows of these models, from the means of who was heard. The old rows stay as they are."""
    if absent == "participants":
        return means.rows
    homes = np.fromiter(models.home.values(), np.int64, len(models.home))
    counts = np.fromiter((examples[client] for client in models.home), np.int64, len(models.home))
    everybody = np.bincount(homes, weights=counts, minlength=len(models.rows))
    weight = np.minimum(means.examples / np.maximum(everybody, 1), 1)  # a client may claim more than it joined with
    return damped(models.rows, means.rows, weight)


def damped(old: Rows, new: Rows, weight: NDArray[np.float64]) -> Rows:
    """So much of the way from each old row to the new one, in double precision."""
    there = old.astype(np.float64)
    return (there + weight[:, None] * (new.astype(np.float64) - there)).astype(np.float32)


def weighted_mean(rows: Rows, examples: Sequence[int]) -> NDArray[np.float64]:
    """The mean of rows, weighted by examples: as `train_mean` takes it, in double precision, row after row."""
    total = np.zeros(rows.shape[1], np.float64)
    for row, weight in zip(rows, examples, strict=True):
        total += np.multiply(row, weight, dtype=np.float64)
    return total / sum(examples)
