"""Each client's inputs and labels as a user gave them, as arrays."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedclade.core import ClientId, InputError

LABEL_NAMES = ("label", "labels", "target", "y")  # of a column of rows with two


class ItemDataset(Protocol):
    """What `torch.utils.data.Dataset` is: items by number, each an input and its label."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> tuple[object, object]: ...


ClientArrays: TypeAlias = (
    Mapping[ClientId, tuple[ArrayLike, ArrayLike | None] | ItemDataset | ArrayLike]
    | Mapping[int, tuple[ArrayLike, ArrayLike | None] | ItemDataset | ArrayLike]
)
"""Each client's inputs and labels; its inputs alone where labels are not used."""
ArrayPair: TypeAlias = tuple[NDArray[np.generic], NDArray[np.generic]]
"""Inputs and labels."""


def named_pairs(arrays: object, where: str, *, labelled: bool = True) -> dict[ClientId, ArrayPair]:
    """Each client's inputs and labels as arrays, the client named by text; where labels are not used, all are 0."""
    if not isinstance(arrays, Mapping):
        need = "a mapping: {client: (inputs, labels)}"
        raise InputError("the data are not by client", where=where, got=type(arrays).__name__, need=need)
    found: dict[ClientId, ArrayPair] = {}
    for client, each in arrays.items():
        name = str(client) if hasattr(client, "__index__") and not isinstance(client, bool) else client
        if name in found:
            raise InputError(f'client "{name}" is there twice', where=where, need="one name for each client")
        place = f'{where}, client "{name}"'
        if not labelled:
            found[name] = inputs_alone(each, place)
        else:
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


def inputs_alone(given: object, where: str) -> ArrayPair:
    """A client's inputs, given alone or with labels that are not used."""
    inputs = given[0] if isinstance(given, tuple | list) and len(given) == 2 else given
    found = pair_of_arrays((inputs, ()), where)[0]
    return found, np.zeros(len(found) if found.ndim else 0, np.int64)


def stack_items(items: Any, where: str) -> ArrayPair:  # of any package
    """The items of a Dataset as arrays."""
    need = "items (input, label), with inputs of one shape"
    try:
        pairs = [(value, label) for value, label in (item_pair(items[number]) for number in range(len(items)))]
        inputs = np.stack([np.asarray(value) for value, _ in pairs])
        return inputs, np.array([np.asarray(label).tolist() for _, label in pairs])
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
