"""Small federations for the checks: six clients who learn the same, or in two groups what contradicts."""

from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Groups, generator
from fedclade.data import Federation, build, from_arrays
from fedclade.data.shares import client_names

ToyTask: TypeAlias = Literal["classification", "regression", "multi-label"]
CLIENTS, EXAMPLES, INPUTS = 6, 120, 4
NOISE = 0.05  # of a number that is learned
SPREAD = 0.7  # deviation of inputs: steps that suit digits are safe


@lru_cache(maxsize=3)
def iid_clients(task: ToyTask = "classification") -> Federation:
    """Six clients that draw from the same: digits, or points with a number or with flags."""
    if task == "classification":
        return build(source="digits", world="iid", clients=CLIENTS)
    return from_arrays({client: draw_points(task, client, 0) for client in client_names(CLIENTS)}, name=f"toy, {task}")


@lru_cache(maxsize=3)
def two_groups(task: ToyTask = "classification") -> Federation:
    """Six clients in two groups: other names for the classes, the opposite of a number, or flags in another order."""
    if task == "classification":
        return build(source="digits", world="label-permutation", clients=CLIENTS, groups=2)
    labels = {client: number % 2 for number, client in enumerate(client_names(CLIENTS))}
    points = {client: draw_points(task, client, group) for client, group in labels.items()}
    made = from_arrays(points, name=f"toy, {task}, two groups")
    return Federation(made.name, made.data, made.classes, truth=Groups.from_labels(labels), task=made.task)


def draw_points(task: ToyTask, client: str, group: int) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    """A client's inputs, and labels that are a linear function of them."""
    rng = generator("toy", task, client)
    inputs = SPREAD * rng.normal(size=(EXAMPLES, INPUTS))
    value = inputs.sum(axis=1)
    if task == "regression":
        return inputs, 50 + (1 - 2 * group) * 10 * value + NOISE * rng.normal(size=EXAMPLES)
    flags = np.stack([value > 0, value + inputs[:, 0] < 0], axis=1)  # both at once is rare, and so is neither
    return inputs, np.roll(flags, group, axis=1)
