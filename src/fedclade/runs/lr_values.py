"""The step sizes that `local.lr` asks to try: "auto", or a list of them."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from fedclade.core import InputError
from fedclade.core.training import optimizer_table

AUTO = "auto"
FACTOR = 3.0  # from one step size to the next
MIDDLE_VALUES = {"sgd": 0.1, "adam": 0.003, "adamw": 0.003}  # where data have no default of their own
MAX_VALUES = 10


def is_search(lr: object) -> TypeGuard[str | Sequence[object]]:
    """Whether this asks for a search: "auto", or a list of step sizes."""
    return lr == AUTO or isinstance(lr, list | tuple)


def values_to_try(lr: str | Sequence[object], local: Mapping[str, object]) -> tuple[float, ...]:
    """The step sizes of `lr`. `local` has the other settings of `[local]`, and the default of the data if any."""
    if isinstance(lr, str):
        kind = str(optimizer_table(local.get("optimizer", "sgd")).get("kind", "sgd"))
        middle = local.get("lr", MIDDLE_VALUES.get(kind, MIDDLE_VALUES["sgd"]))
        assert isinstance(middle, int | float)  # a default
        return tuple(float(f"{middle * factor:.2g}") for factor in (1 / FACTOR, 1.0, FACTOR))
    numbers = [value for value in lr if isinstance(value, int | float) and value is not True and 0 < value < math.inf]
    values = tuple(sorted(set(map(float, numbers))))
    if len(values) != len(lr) or not 2 <= len(values) <= MAX_VALUES:
        need = f'a number over 0, "{AUTO}", or a list of 2 to {MAX_VALUES} different numbers to choose from'
        raise InputError("lr is not usable", where="local.lr", got=repr(list(lr)), need=need)
    return values


def with_search(local: Mapping[str, object], lr: object) -> tuple[Mapping[str, object], tuple[float, ...]]:
    """A `[local]` without a search, and the step sizes of one that was asked for: until then it has the middle one."""
    if not is_search(lr):
        return local, ()
    values = values_to_try(lr, local)
    return {**local, "lr": values[len(values) // 2]}, values
