"""What the labels of a user's own arrays say is to be learned, and these labels in the form that the task wants.

By themselves text and whole numbers are classes, numbers with fractions are what a regression learns, and columns of 0
and 1 are flags. Whole numbers of a type with fractions (1.0, 2.0) are classes while there are few different ones. The
notes say what was chosen where it could have been something else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.core.settings import unknown_name_error
from fedclade.core.task import TaskKind
from fedclade.data.labels import Categorical, number_labels

ArrayTask: TypeAlias = Literal["auto", "classification", "regression", "multi-label", "next-word", "reconstruction"]
UNLABELLED: tuple[TaskKind, ...] = ("next-word", "reconstruction")
"""What is learned from inputs alone."""
MAX_CLASSES_OF_FLOATS = 20  # different whole numbers of a type with fractions that are classes: more are measurements
MANY_CLASSES = 100  # of whole numbers: more are perhaps measurements
AnyArray = NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class ReadLabels:
    """The labels of all clients."""

    kind: TaskKind
    arrays: dict[ClientId, AnyArray]
    """Whole numbers (examples,); of a regression float64 (examples,); of several flags uint8 (examples, flags)."""
    class_names: tuple[str, ...] = ()
    """Of text."""
    notes: tuple[str, ...] = ()


def read_labels(labels: Mapping[ClientId, AnyArray], task: ArrayTask, where: str) -> ReadLabels:
    """What is learned from these labels, and the labels; an error that names a client if they cannot be that."""
    if task not in get_args(ArrayTask):
        raise unknown_name_error("the task", f"{where}, task", str(task), get_args(ArrayTask))
    kind = choose_task(labels, where) if task == "auto" else task
    if kind in UNLABELLED:
        return ReadLabels(kind, {client: np.zeros(len(each), np.int64) for client, each in labels.items()})
    if kind == "classification":
        return read_classes(labels, where)
    places = {client: f'{where}, client "{client}"' for client in labels}
    if kind == "multi-label":
        return ReadLabels(kind, {client: read_flags(each, places[client]) for client, each in labels.items()})
    note = 'labels are numbers: a regression; task="classification" reads whole ones as classes'
    numbers = {client: read_numbers(each, places[client]) for client, each in labels.items()}
    return ReadLabels(kind, dict(numbers), notes=(note,) if task == "auto" else ())


def choose_task(labels: Mapping[ClientId, AnyArray], where: str) -> TaskKind:
    """The task that the labels of all clients together speak for."""
    arrays = list(labels.values())
    if arrays and all(each.ndim == 2 and is_zero_or_one(each) for each in arrays):
        return "multi-label"
    if not all(is_column(each) and each.dtype.kind in "iuf" for each in arrays):
        return "classification"
    broken = {client: each for client, each in labels.items() if has_fractions(each)}
    if all(each.dtype.kind == "f" for each in arrays):
        return "regression" if broken or len(different(arrays)) > MAX_CLASSES_OF_FLOATS else "classification"
    for client, each in broken.items():
        got, need = f"{each.dtype} {each.shape} with fractions", f"whole numbers ({len(each)},), as other clients have"
        do = 'task="regression" takes all of them as numbers'
        raise InputError("labels do not fit the inputs", where=f'{where}, client "{client}"', got=got, need=need, do=do)
    return "classification"


def read_classes(labels: Mapping[ClientId, AnyArray], where: str) -> ReadLabels:
    """Labels as classes: text by its names, whole numbers as they are."""
    if any(each.dtype.kind in "UO" for each in labels.values()):
        return number_text_labels(labels, where)
    found = dict(labels)
    for client, each in labels.items():
        if each.dtype.kind == "f" and each.ndim == 1 and not has_fractions(each):
            found[client] = each.astype(np.int64)
    count, notes = len(different(list(found.values()))), tuple[str, ...]()
    as_numbers = 'task="regression" reads them as numbers'
    if any(each.dtype.kind == "f" for each in labels.values()):
        notes = (f"labels are {count} whole numbers: classes; {as_numbers}",)
    elif count > MANY_CLASSES:
        notes = (f"labels are {count} different whole numbers: classes; {as_numbers}",)
    return ReadLabels("classification", found, notes=notes)


def number_text_labels(labels: Mapping[ClientId, AnyArray], where: str) -> ReadLabels:
    """Numbers in the place of labels that are text, and the names of the classes."""
    found = []
    for client, each in labels.items():
        kinds = sorted({type(label).__name__ for label in each.ravel().tolist()})
        if kinds != ["str"]:
            got, need = ", ".join(kinds), "text, or whole numbers, the same with every client"
            raise InputError("labels are not usable", where=f'{where}, client "{client}"', got=got, need=need)
        texts, codes = np.unique(each.astype(str), return_inverse=True)
        found.append(Categorical(tuple(texts.tolist()), codes.astype(np.int64)))
    numbers, names = number_labels(found, where)
    return ReadLabels("classification", dict(zip(labels, numbers, strict=True)), names)


def read_numbers(labels: AnyArray, where: str) -> NDArray[np.float64]:
    """(examples,): the numbers that a regression learns."""
    if not is_column(labels) or labels.dtype.kind not in "iufb":
        got, need = f"{labels.dtype} {labels.shape}", f"numbers ({len(labels)},)"
        raise InputError("labels are not numbers", where=where, got=got, need=need)
    numbers = labels.reshape(len(labels)).astype(np.float64)
    if not np.isfinite(numbers).all():
        got = f"NaN or infinity in {int((~np.isfinite(numbers)).sum())} of {len(numbers)} examples"
        do = "drop these examples"
        raise InputError("labels are not finite", where=where, got=got, need="finite numbers", do=do)
    return numbers


def read_flags(labels: AnyArray, where: str) -> NDArray[np.uint8]:
    """(examples, flags): 1 where an example has a flag."""
    if labels.ndim != 2 or not labels.shape[1] or not is_zero_or_one(labels):
        got = f"{labels.dtype} {labels.shape}"
        if labels.dtype.kind in "iufb" and labels.size:
            got += f", {labels.min()} to {labels.max()}"
        raise InputError("labels are not flags", where=where, got=got, need=f"0 and 1 ({len(labels)}, flags)")
    return labels.astype(np.uint8)


def is_column(labels: AnyArray) -> bool:
    """Whether there is one label for each example."""
    return labels.ndim == 1 or labels.shape[1:] == (1,)


def is_zero_or_one(labels: AnyArray) -> bool:
    return labels.dtype.kind in "iufb" and bool(np.isin(labels, (0, 1)).all())


def has_fractions(labels: AnyArray) -> bool:
    """Whether some of them are no whole numbers."""
    return labels.dtype.kind == "f" and not bool(np.all(labels == np.round(labels.astype(np.float64))))


def different(arrays: list[AnyArray]) -> set[object]:
    """The different labels of all of these."""
    return {label for each in arrays for label in np.unique(each).tolist()}
