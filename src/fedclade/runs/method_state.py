"""The state of a method in a checkpoint: its class, its check at the start, and how it comes back."""

import inspect
import json
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedclade.core import Damaged, InputError
from fedclade.methods import AnyMethod, SelectionState
from fedclade.runs.early_stopping import BestRound
from fedclade.runs.experiment import Experiment
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.state_codec import StateArrays, pack, unpack


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


@dataclass(frozen=True, eq=False)
class RunState:
    """Everything that a run remembers from one round to the next."""

    method: object
    """The method's own state."""
    selection: SelectionState = field(default_factory=SelectionState)
    best: BestRound = field(default_factory=BestRound)
    best_method: object = None
    """The method's state after the best round, where a run may end early; None: no round was validated yet."""

    @property
    def final_method(self) -> object:
        """The method's state that the run's models are of."""
        return self.method if self.best_method is None else self.best_method


def pack_state(experiment: Experiment, state: RunState) -> tuple[object, StateArrays]:
    """The state of a run for a checkpoint; of most runs that of the method alone."""
    parts = [state.method]
    if experiment.selection.selection != "random":
        parts.append(state.selection)
    if experiment.run.early_stopping is not None:
        parts += [state.best, state.best_method]
    return pack(parts[0] if len(parts) == 1 else tuple(parts))


def restore_state(experiment: Experiment, checkpoint: Checkpoint) -> RunState:
    """The state of a run, as a checkpoint has it."""
    own = state_class(experiment.method)
    selects, stops = experiment.selection.selection != "random", experiment.run.early_stopping is not None
    if not selects and not stops:
        return RunState(unpack(own, checkpoint.tree, checkpoint.arrays))
    kinds = [own, *([SelectionState] if selects else []), *([BestRound, own | None] if stops else [])]
    whole = typing.cast("type[tuple[Any, ...]]", types.GenericAlias(tuple, tuple(kinds)))
    method, *more = unpack(whole, checkpoint.tree, checkpoint.arrays)
    selection = more.pop(0) if selects else SelectionState()
    return RunState(method, selection, *more)


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
