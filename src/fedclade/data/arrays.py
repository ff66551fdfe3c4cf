"""A user's own arrays as a federation."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedclade.core import ClientId, InputError, checked_ids
from fedclade.data.even_parts import even_out
from fedclade.data.examples import Part, Pool, check_one_shape
from fedclade.data.federation import ClientData, Federation
from fedclade.data.labels import MAX_CLASSES, Categorical, number_labels
from fedclade.data.shares import split

LABEL_NAMES = ("label", "labels", "target", "y")  # of a column of rows with two


class ItemDataset(Protocol):
    """What `torch.utils.data.Dataset` is: items by number, each an input and its label."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> tuple[object, object]: ...


ClientArrays: TypeAlias = (
    Mapping[ClientId, tuple[ArrayLike, ArrayLike] | ItemDataset]
    | Mapping[int, tuple[ArrayLike, ArrayLike] | ItemDataset]
)
"""Each client's inputs and labels."""
ArrayPair: TypeAlias = tuple[NDArray[np.generic], NDArray[np.generic]]
"""Inputs and labels."""


def from_arrays(
    arrays: ClientArrays, *, test: float | ClientArrays = 0.2, seed: int = 0, name: str = "own data"
) -> Federation:
    """A federation from each client's (inputs, labels); a share of each is held out for testing.

    A client is named by text or by a whole number. In the place of (inputs, labels) a `torch.utils.data.Dataset` of
    such pairs will do. Inputs are (examples, ...) numbers of one shape everywhere; bytes (uint8) become 0 to 1, other
    numbers stay as they are: nothing is standardised. Labels are text, or whole numbers from 0; a client may have one
    class only, the federation may not. `test` is a share, or each client's examples to test on, in the same form.
    """
    pairs = named_pairs(arrays, name)
    if isinstance(test, int | float):
        numbered, names = number_text_labels(pairs, name)
        made = federation_of_arrays(numbered, test=test, seed=seed, name=name)
        return replace(made, classes=len(names), class_names=names) if names else made
    held_out = named_pairs(test, f"{name}, test")
    if odd := sorted(set(held_out) ^ set(pairs), key=str):
        got = f'client "{odd[0]}" in one of them alone'
        raise InputError("test and training clients differ", where=name, got=got, need="the same clients")
    whole = {client: join(pair, held_out[client], f'{name}, client "{client}"') for client, pair in pairs.items()}
    numbered, names = number_text_labels(whole, name)
    made = federation_of_arrays(numbered, test=0.5, seed=seed, name=name)
    data = {client: split_at(held, len(pairs[client][1])) for client, held in made.data.items()}
    return replace(made, data=data, classes=len(names) or made.classes, class_names=names)


def named_pairs(arrays: object, where: str) -> dict[ClientId, ArrayPair]:
    """Each client's inputs and labels as arrays, the client named by text."""
    if not isinstance(arrays, Mapping):
        need = "a mapping: {client: (inputs, labels)}"
        raise InputError("the data are not by client", where=where, got=type(arrays).__name__, need=need)
    found: dict[ClientId, ArrayPair] = {}
    for client, each in arrays.items():
        name = str(client) if hasattr(client, "__index__") and not isinstance(client, bool) else client
        if name in found:
            raise InputError(f'client "{name}" is there twice', where=where, need="one name for each client")
        place = f'{where}, client "{name}"'
        found[name] = stack_items(each, place) if is_dataset(each) else pair_of_arrays(each, place)
    return found


def is_dataset(value: object) -> bool:
    """Whether this is a `torch.utils.data.Dataset`, or like one."""
    other = (tuple, list, str, bytes, Mapping, np.ndarray)
    return hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, other)


def pair_of_arrays(pair: object, where: str) -> ArrayPair:
    """Inputs and labels as arrays."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        got = type(pair).__name__ + (f" of {len(pair)}" if isinstance(pair, tuple | list) else "")
        raise InputError("a client's data are not arrays", where=where, got=got, need="(inputs, labels), or a Dataset")
    try:
        return np.asarray(pair[0]), np.asarray(pair[1])
    except (ValueError, TypeError, RuntimeError) as error:  # torch refuses a tensor with a gradient by RuntimeError
        need = "(inputs, labels), rows of one length"
        raise InputError("a client's data are not arrays", where=where, got=str(error)[:200], need=need) from None


def stack_items(items: Any, where: str) -> ArrayPair:  # of any package
    """The items of a Dataset as arrays."""
    need = "items (input, label), with inputs of one shape"
    try:
        pairs = [(value, label) for value, label in (item_pair(items[number]) for number in range(len(items)))]
        inputs = np.stack([np.asarray(value) for value, _ in pairs])
        return inputs, np.array([label.item() if hasattr(label, "item") else label for _, label in pairs])
    except (ValueError, TypeError, RuntimeError, LookupError) as error:
        got = str(error)[:200]
        raise InputError("a Dataset's items are not usable", where=where, got=got, need=need) from None


def item_pair(item: Any) -> Any:  # of any package
    """The input and the label of an item; of a table's row with two columns, one of them called as labels are."""
    if not isinstance(item, Mapping):
        return item
    named = [name for name in item if str(name).lower() in LABEL_NAMES]
    if len(item) != 2 or len(named) != 1:
        columns = ", ".join(map(str, item))
        raise LookupError(f"rows with the columns {columns}: two are needed, one called label; or use from_frame")
    return next(value for name, value in item.items() if name != named[0]), item[named[0]]


def join(one: ArrayPair, other: ArrayPair, where: str) -> ArrayPair:
    """Both clients' arrays, one behind the other."""
    try:
        return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    except ValueError as error:
        need, got = "inputs of one shape, and labels", str(error)[:200]
        raise InputError("test and training examples do not fit", where=where, got=got, need=need) from None


def split_at(held: ClientData, first: int) -> ClientData:
    """The same examples: so many first ones to learn from, and the others to be tested on."""
    index = np.arange(len(held.train.pool.labels), dtype=np.int64)
    return ClientData(replace(held.train, index=index[:first]), replace(held.test, index=index[first:]))


def number_text_labels(
    pairs: dict[ClientId, ArrayPair], where: str
) -> tuple[dict[ClientId, ArrayPair], tuple[str, ...]]:
    """The same with numbers in the place of labels that are text, and the names of the classes; none if none are."""
    if not any(labels.dtype.kind in "UO" for _, labels in pairs.values()):
        return pairs, ()
    found = []
    for client, (_, labels) in pairs.items():
        kinds = sorted({type(each).__name__ for each in labels.ravel().tolist()})
        if kinds != ["str"]:
            got, need = ", ".join(kinds), "text, or whole numbers, the same with every client"
            raise InputError("labels are not usable", where=f'{where}, client "{client}"', got=got, need=need)
        texts, codes = np.unique(labels.astype(str), return_inverse=True)
        found.append(Categorical(tuple(texts.tolist()), codes.astype(np.int64)))
    numbers, names = number_labels(found, where)
    if len(names) == 1:
        raise one_class_error(where, names[0])
    return {client: (pairs[client][0], codes) for client, codes in zip(pairs, numbers, strict=True)}, names


def federation_of_arrays(
    arrays: Mapping[ClientId, ArrayPair], *, test: float, seed: int, name: str, labelled: bool = True
) -> Federation:
    """The federation of each client's inputs and numbered labels."""
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
    if len(seen) == 1 and labelled:
        raise one_class_error(name, seen.pop())
    return Federation(name, even_out(data, seed), max(seen) + 1)


def make_client_data(
    client: ClientId, arrays: tuple[ArrayLike, ArrayLike], *, test: float, seed: int, where: str
) -> ClientData:
    """One client's (inputs, labels), checked, with a share of them held out."""
    inputs, labels = pair_of_arrays(arrays, where)
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
    kept = (
        inputs.astype(np.uint8) if inputs.dtype == np.uint8 else inputs.astype(np.float32)
    )  # the user's own may change
    try:
        pool = Pool(kept, labels.astype(np.int64))
    except InputError as error:
        got = error.got
        raise InputError(error.what, where=f"{where}, {error.where}", got=got, need=error.need, do=error.do) from None
    learned, tested = split(np.arange(len(inputs)), pool.labels, test, (seed, "own", client))
    return ClientData(Part(pool, learned), Part(pool, tested))


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
