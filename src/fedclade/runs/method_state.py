"""The state of a method in a checkpoint: its class, its check at the start, and how it comes back."""

import inspect
import json
import types
import typing
from collections.abc import Callable

import numpy as np

from fedclade.core import Damaged, InputError
from fedclade.methods import AnyMethod, Selection, SelectionState
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.state_codec import pack, unpack


def state_class(method: AnyMethod) -> type[object]:
    """The class of a method's state, from the annotation of its `start`."""
    start = inspect.unwrap(method.start)
    try:
        returned = return_annotation(start)
    except (NameError, SyntaxError) as error:  # an annotation in quotes that cannot be read
        returned = str(error)
    kind = next(iter(typing.get_args(returned)), None) if typing.get_origin(returned) is tuple else None
    if not isinstance(kind, type):
        what = f"the state of {type(method).__name__} is not known"
        need = "-> tuple[ITS STATE, Facts]: by its class a run can be resumed"
        raise InputError(what, where="its start", got=f"-> {returned}", need=need)
    return kind


def return_annotation(function: Callable[..., object]) -> object:
    """The annotation of what a function returns; those of its arguments may name what only a type checker knows."""

    def bare() -> None: ...

    bare.__annotations__ = {"return": inspect.get_annotations(function).get("return")}
    known = getattr(function, "__globals__", {})
    return inspect.get_annotations(bare, globals=known, eval_str=True)["return"]


def restore_state(method: AnyMethod, selection: Selection, checkpoint: Checkpoint) -> tuple[object, SelectionState]:
    """A method's state, and what selection remembers, as a checkpoint has them."""
    if selection.selection == "random":
        return unpack(state_class(method), checkpoint.tree, checkpoint.arrays), SelectionState()
    both = typing.cast(
        "type[tuple[object, SelectionState]]", types.GenericAlias(tuple, (state_class(method), SelectionState))
    )
    return unpack(both, checkpoint.tree, checkpoint.arrays)


def check_state(method: AnyMethod, state: object) -> None:
    """An error unless the state can be saved and comes back: at the start, and not when a run is resumed."""
    kind, what = state_class(method), f"the state of {type(method).__name__}"
    try:
        tree, arrays = pack(state)
        again = pack(unpack(kind, json.loads(json.dumps(tree)), arrays))
        same = again[0] == tree and all(np.array_equal(array, again[1][name]) for name, array in arrays.items())
    except (TypeError, ValueError, KeyError, Damaged) as error:
        need = "a frozen dataclass of arrays, ids, numbers, tuples and dicts, each annotated as what it is"
        raise InputError(f"{what} cannot be saved", where=kind.__name__, got=str(error), need=need) from None
    if not same:
        raise InputError(f"{what} does not come back as it was", where=kind.__name__)
