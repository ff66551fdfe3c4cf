"""How much an example counts in a client's loss, by its class.

`balanced` weights are of the client's own labels: no message is needed, nothing is told, and they are right after data
have changed, for a newcomer, and in a group of clients whose classes nobody knew before. In a batch the loss is divided
by the sum of its weights, so a client that lacks a class trains as it would by the counts of all clients.
"""

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.core.task import Labels, Task
from fedclade.core.training import LocalTraining


def class_weights_for(task: Task, local: LocalTraining, labels: Labels) -> NDArray[np.float32] | None:
    """The weight of each class, or of each flag that is there, for a client with these labels; None: all alike."""
    asked = local.class_weights
    if asked == "none":
        return None
    if asked != "balanced":
        return np.array(asked, np.float32)
    examples = len(labels)
    if task.kind == "multi-label":  # a flag that is there against one that is not, where there are both
        counts = np.count_nonzero(labels, axis=0)
        mixed = (counts > 0) & (counts < examples)
        weights = np.where(mixed, (examples - counts) / np.maximum(counts, 1), 1.0)
    else:
        counts = np.bincount(labels, minlength=task.count)
        weights = examples / (np.count_nonzero(counts) * np.maximum(counts, 1))
    return np.asarray(weights, np.float32)


def check_class_weights(local: LocalTraining, task: Task) -> None:
    """An error unless the task has classes to weigh, and a list as many numbers as classes."""
    asked, where = local.class_weights, "local.class_weights"
    if asked == "none":
        return
    if task.kind not in ("classification", "multi-label"):
        do = "weigh examples inside your loss" if task.kind == "own" else f'{where} = "none"'
        got, need = f"a task of {task.kind}", "a task of classification, or multi-label"
        raise InputError("the task has no classes to weigh", where=where, got=got, need=need, do=do)
    if asked != "balanced" and len(asked) != task.count:
        what, need = "class weights do not fit the classes", f"{task.count}: one for each, in the order of their labels"
        raise InputError(what, where=where, got=f"{len(asked)} numbers", need=need)
