"""A user's own arrays as a federation."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from fedclade.core import ClientId, InputError, checked_ids
from fedclade.data.examples import Part, Pool, check_one_shape
from fedclade.data.federation import ClientData, Federation
from fedclade.data.labels import MAX_CLASSES
from fedclade.data.shares import split

ArraysByClient = Mapping[ClientId, tuple[ArrayLike, ArrayLike]]
"""Each client's inputs and labels."""


def from_arrays(arrays: ArraysByClient, *, test: float = 0.2, seed: int = 0, name: str = "own data") -> Federation:
    """A federation from each client's (inputs, labels); a share of each is held out for testing.

    Inputs are (examples, ...) numbers of one shape everywhere; bytes (uint8) become 0 to 1, other numbers stay as they
    are. Labels are whole numbers from 0; a client may have one class only, the federation may not.
    """
    if not isinstance(test, int | float) or not 0 < test < 1:
        raise InputError("the test share is not usable", where=name, got=str(test), need="over 0 and under 1")
    if not hasattr(seed, "__index__") or seed < 0:
        raise InputError("the seed is not usable", where=name, got=repr(seed), need="a whole number, 0 or more")
    data: dict[ClientId, ClientData] = {}
    forms: dict[str, ClientId] = {}
    seen: set[int] = set()
    for client in checked_ids(arrays, where=name):
        where = f'{name}, client "{client}"'
        data[client] = make_client_data(client, arrays[client], test=test, seed=seed, where=where)
        pool = data[client].train.pool
        forms.setdefault("bytes" if pool.inputs.dtype == np.uint8 else "other numbers", client)
        seen.update(np.unique(pool.labels).tolist())
    if len(forms) > 1:  # bytes are scaled and the others are not: the same pixel would be two numbers
        got = str(forms)
        raise InputError("clients' inputs differ in kind", where=name, got=got, need="bytes everywhere, or nowhere")
    check_one_shape({client: held.train.pool.inputs for client, held in data.items()}, name)
    if len(seen) == 1:
        raise one_class_error(name, seen.pop())
    return Federation(name, data, max(seen) + 1)


def make_client_data(
    client: ClientId, arrays: tuple[ArrayLike, ArrayLike], *, test: float, seed: int, where: str
) -> ClientData:
    """One client's (inputs, labels), checked, with a share of them held out."""
    try:
        inputs, labels = (np.asarray(part) for part in arrays)
    except (ValueError, TypeError) as error:
        need = "(inputs, labels), rows of one length"
        raise InputError("a client's data are not arrays", where=where, got=str(error), need=need) from None
    if inputs.dtype.kind not in "fiub" or inputs.ndim < 2 or 0 in inputs.shape[1:]:
        got = f"{inputs.dtype} {inputs.shape}"
        raise InputError("inputs are not numbers in rows", where=where, got=got, need="numbers (examples, ...)")
    if labels.dtype.kind not in "iu" or labels.shape != inputs.shape[:1]:
        got = f"{labels.dtype} {labels.shape}"
        raise InputError("labels do not fit the inputs", where=where, got=got, need=f"whole numbers ({len(inputs)},)")
    if len(inputs) < 2:
        got, need = str(len(inputs)), "at least 2: one to learn from, one to test with"
        raise InputError("too few examples", where=where, got=got, need=need, do="give it examples or leave it out")
    if labels.max() >= MAX_CLASSES:
        raise InputError("a label is too large", where=where, got=str(labels.max()), need=f"under {MAX_CLASSES}")
    if inputs.dtype.kind == "f" and inputs.dtype.itemsize > 4 and np.isfinite(inputs).all():
        largest = max(-inputs.min(), inputs.max())
        if largest > np.finfo(np.float32).max:
            raise InputError("inputs are too large", where=where, got=str(largest), need="float32's range")
    kept = inputs.copy() if inputs.dtype == np.uint8 else inputs.astype(np.float32)  # the user's own may change
    try:
        pool = Pool(kept, labels.astype(np.int64))
    except InputError as error:
        got = error.got
        raise InputError(error.what, where=f"{where}, {error.where}", got=got, need=error.need, do=error.do) from None
    learned, tested = split(np.arange(len(inputs)), pool.labels, test, (seed, "own", client))
    return ClientData(Part(pool, learned), Part(pool, tested))


def from_named_classes(
    arrays: ArraysByClient, class_names: tuple[str, ...], *, test: float, seed: int, name: str
) -> Federation:
    """`from_arrays` of labels that number these names."""
    if len(class_names) == 1:
        raise one_class_error(name, class_names[0])
    return replace(from_arrays(arrays, test=test, seed=seed, name=name), class_names=class_names)


def one_class_error(where: str, label: int | str) -> InputError:
    """The error for data in which there is nothing to tell apart."""
    return InputError("there is only one class", where=where, got=f"{label!r} everywhere", need="at least 2 classes")
