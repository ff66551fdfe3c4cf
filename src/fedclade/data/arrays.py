"""A user's own arrays as a federation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedclade.core import ClientId, InputError, checked_ids
from fedclade.core.task import LossName, Task, TaskKind
from fedclade.data.array_labels import UNLABELLED, ArrayTask, read_labels
from fedclade.data.client_arrays import ArrayPair, ClientArrays, join, named_pairs, pair_of_arrays
from fedclade.data.even_parts import even_out
from fedclade.data.examples import Index, Part, Pool, check_one_shape
from fedclade.data.federation import ClientData, Federation
from fedclade.data.labels import MAX_CLASSES
from fedclade.data.number_labels import number_task, standardise
from fedclade.data.shares import split


def from_arrays(
    arrays: ClientArrays,
    *,
    task: ArrayTask = "auto",
    loss: LossName = "default",
    test: float | ClientArrays = 0.2,
    seed: int = 0,
    name: str = "own data",
) -> Federation:
    """A federation from each client's (inputs, labels); a share of each is held out for testing.

    A client is named by text or by a whole number. In the place of (inputs, labels) a `torch.utils.data.Dataset` of
    such pairs will do. Inputs are (examples, ...) numbers of one shape everywhere; bytes (uint8) become 0 to 1, other
    numbers stay as they are: nothing is standardised.

    Labels say what is learned, and `task` says otherwise: text, or whole numbers from 0, are classes; numbers with
    fractions a `regression`; 0 and 1 in (examples, flags) `multi-label`. For `reconstruction` and `next-word` inputs
    are enough. A client may have one class only, the federation may not. A regression's labels are standardised by
    the mean and the deviation of all training labels, and results are in their own unit; its `loss` is `mse`, or
    `huber`, which counts errors beyond one deviation of the label less.

    `test` is a share, or each client's examples to test on, in the same form.
    """
    labelled = task not in UNLABELLED
    pairs = named_pairs(arrays, name, labelled=labelled)
    whole, share, learned = pairs, 0.5, dict[ClientId, int]()
    if isinstance(test, int | float):
        share = test
    else:
        held_out = named_pairs(test, f"{name}, test", labelled=labelled)
        if odd := sorted(set(held_out) ^ set(pairs), key=str):
            got = f'client "{odd[0]}" in one of them alone'
            raise InputError("test and training clients differ", where=name, got=got, need="the same clients")
        whole = {client: join(pair, held_out[client], f'{name}, client "{client}"') for client, pair in pairs.items()}
        learned = {client: len(inputs) for client, (inputs, _) in pairs.items()}
    read = read_labels({client: labels for client, (_, labels) in whole.items()}, task, name)
    if loss != "default" and read.kind != "regression":
        raise InputError(
            "loss does nothing", where=f"{name}, loss", got=f'"{loss}" of {read.kind}', need="a regression"
        )
    if len(read.class_names) == 1:
        raise one_class_error(name, read.class_names[0])
    made = federation_of_arrays(
        {client: (inputs, read.arrays[client]) for client, (inputs, _) in whole.items()},
        kind=read.kind,
        loss=loss,
        test=share,
        learned=learned,
        seed=seed,
        name=name,
    )
    if read.class_names:
        made = replace(made, classes=len(read.class_names), class_names=read.class_names)
    return replace(made, notes=read.notes)


def federation_of_arrays(
    arrays: Mapping[ClientId, ArrayPair],
    *,
    test: float,
    seed: int,
    name: str,
    labelled: bool = True,
    kind: TaskKind = "classification",
    loss: LossName = "default",
    learned: Mapping[ClientId, int] | None = None,
) -> Federation:
    """The federation of each client's inputs and labels, in the form that `read_labels` gives them.

    `learned`: so many first examples of each client are learned from, and the others tested on, where that is given.
    """
    if not isinstance(test, int | float) or not 0 < test < 1:
        raise InputError("the test share is not usable", where=name, got=str(test), need="over 0 and under 1")
    if not hasattr(seed, "__index__") or seed < 0:
        raise InputError("the seed is not usable", where=name, got=repr(seed), need="a whole number, 0 or more")
    held: dict[ClientId, SplitArrays] = {}
    forms: dict[str, ClientId] = {}
    for client in checked_ids(arrays, where=name):
        where = f'{name}, client "{client}"'
        held[client] = split_client(client, arrays[client], test=test, seed=seed, where=where, kind=kind)
        if learned:
            held[client] = held[client].split_at(learned[client])
        forms.setdefault("bytes" if held[client].inputs.dtype == np.uint8 else "other numbers", client)
    if len(forms) > 1:  # bytes are scaled and the others are not: the same pixel would be two numbers
        got = str(forms)
        raise InputError("clients' inputs differ in kind", where=name, got=got, need="bytes everywhere, or nowhere")
    check_one_shape({client: each.inputs for client, each in held.items()}, name)
    task = task_of_arrays(kind, held, name, loss)
    if (
        task.is_classification
        and labelled
        and len(seen := {label for each in held.values() for label in each.classes()}) < 2
    ):
        raise one_class_error(name, seen.pop())
    data = {client: each.client_data(task, f'{name}, client "{client}"') for client, each in held.items()}
    return Federation(name, data if learned else even_out(data, seed), task.label_kinds, task=task)


@dataclass(frozen=True, eq=False)
class SplitArrays:
    """A client's examples, and which of them are learned from."""

    inputs: NDArray[np.float32] | NDArray[np.uint8] | NDArray[np.int32]
    labels: NDArray[Any]  # of three types
    """As `read_labels` gives them."""
    learned: Index
    tested: Index

    def split_at(self, first: int) -> "SplitArrays":
        """The same examples: so many first ones to learn from, and the others to be tested on."""
        index = np.arange(len(self.inputs), dtype=np.int64)
        return replace(self, learned=index[:first], tested=index[first:])

    def classes(self) -> set[int]:
        """The classes that it has."""
        return set(np.unique(self.labels).tolist())

    def client_data(self, task: Task, where: str) -> ClientData:
        """A client's data for this task."""
        labels = standardise(task, self.labels) if task.labels == "number" else self.labels
        try:
            pool = Pool(self.inputs, labels)
        except InputError as error:
            place = f"{where}, {error.where}"
            raise InputError(error.what, where=place, got=error.got, need=error.need, do=error.do) from None
        return ClientData(Part(pool, self.learned), Part(pool, self.tested))


def task_of_arrays(kind: TaskKind, held: Mapping[ClientId, SplitArrays], name: str, loss: LossName) -> Task:
    """What is learned from these arrays of all clients."""
    if kind == "regression":
        return number_task([each.labels[each.learned] for each in held.values()], name, loss=loss)
    if kind == "multi-label":
        widths = sorted({each.labels.shape[1] for each in held.values()})
        if len(widths) > 1:
            got = " and ".join(map(str, widths))
            raise InputError("clients have other flags", where=name, got=f"{got} columns", need="the same flags")
        if not any(each.labels.any() for each in held.values()):
            raise InputError("no example has a flag", where=name, got="0 everywhere", need="some of 1")
        return Task(kind=kind, count=widths[0], labels="flags")
    most = max(int(each.labels.max()) for each in held.values())
    return Task(kind=kind, count=most + 1)


def split_client(
    client: ClientId, arrays: tuple[ArrayLike, ArrayLike], *, test: float, seed: int, where: str, kind: TaskKind
) -> SplitArrays:
    """One client's (inputs, labels), checked, with a share of them held out."""
    inputs, labels = pair_of_arrays(arrays, where)
    if inputs.dtype.kind not in "fiub" or inputs.ndim < 2 or 0 in inputs.shape[1:]:
        got = f"{inputs.dtype} {inputs.shape}"
        raise InputError("inputs are not numbers in rows", where=where, got=got, need="numbers (examples, ...)")
    fits = labels.shape[:1] == inputs.shape[:1]
    if kind == "classification":
        fits = fits and labels.dtype.kind in "iu" and labels.ndim == 1
    if not fits:
        got = f"{labels.dtype} {labels.shape}"
        need = f"one for each: {len(inputs)}"
        if kind == "classification":
            need = f"whole numbers ({len(inputs)},); of a regression numbers, of several flags 0 and 1"
        raise InputError("labels do not fit the inputs", where=where, got=got, need=need)
    if len(inputs) < 2:
        got, need = str(len(inputs)), "at least 2: one to learn from, one to test with"
        raise InputError("too few examples", where=where, got=got, need=need, do="give it examples or leave it out")
    if kind == "classification":
        labels = labels.astype(np.int64)
        low, high, do = int(labels.min()), int(labels.max()), 'task="regression", if labels are measurements'
        if low < 0:
            raise InputError("a label is negative", where=where, got=str(low), need=">= 0", do=do)
        if high >= MAX_CLASSES:
            raise InputError("a label is too large", where=where, got=str(high), need=f"under {MAX_CLASSES}", do=do)
    kept = words_of(inputs, where) if kind == "next-word" else numbers_of(inputs, where)
    return SplitArrays(kept, labels, *split(np.arange(len(inputs)), labels, test, (seed, "own", client)))


def numbers_of(inputs: NDArray[Any], where: str) -> NDArray[np.float32] | NDArray[np.uint8]:
    """Inputs as a pool has them, in memory of our own: the user's may change."""
    if inputs.dtype.kind == "f" and inputs.dtype.itemsize > 4 and np.isfinite(inputs).all():
        largest = max(-inputs.min(), inputs.max())
        if largest > np.finfo(np.float32).max:
            raise InputError("inputs are too large", where=where, got=str(largest), need="float32's range")
    return inputs.astype(np.uint8) if inputs.dtype == np.uint8 else inputs.astype(np.float32)


def words_of(inputs: NDArray[Any], where: str) -> NDArray[np.int32]:
    """Texts as a pool has them: the number of each word in a vocabulary."""
    if inputs.dtype.kind not in "iu" or inputs.ndim != 2 or inputs.min() < 0 or inputs.max() > np.iinfo(np.int32).max:
        got = f"{inputs.dtype} {inputs.shape}, {inputs.min()} to {inputs.max()}"
        need = "whole numbers from 0 (texts, words)"
        raise InputError("inputs are not words", where=where, got=got, need=need)
    return inputs.astype(np.int32)


def make_client_data(
    client: ClientId, arrays: tuple[ArrayLike, ArrayLike], *, test: float, seed: int, where: str
) -> ClientData:
    """One client's (inputs, classes), checked, with a share of them held out."""
    held = split_client(client, arrays, test=test, seed=seed, where=where, kind="classification")
    return held.client_data(Task(count=MAX_CLASSES), where)


def from_named_classes(
    arrays: Mapping[ClientId, ArrayPair],
    class_names: tuple[str, ...],
    *,
    test: float,
    seed: int,
    name: str,
    labelled: bool = True,
    notes: tuple[str, ...] = (),
) -> Federation:
    """The federation of labels that number these names; without labels there is one class without a name."""
    if len(class_names) == 1 and labelled:
        raise one_class_error(name, class_names[0])
    made = federation_of_arrays(arrays, test=test, seed=seed, name=name, labelled=labelled)
    return replace(made, class_names=class_names if labelled else (), notes=notes)


def one_class_error(where: str, label: int | str) -> InputError:
    """The error for data in which there is nothing to tell apart."""
    return InputError("there is only one class", where=where, got=f"{label!r} everywhere", need="at least 2 classes")
