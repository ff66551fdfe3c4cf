"""CFL on clients that move as known by hand."""

from typing import Any

import numpy as np

import fedclade as fc
from fedclade.core import Assignment, Round
from fedclade.methods.cfl.parameter_tree import CFLState
from methods.pulling import Pulling

ALWAYS: dict[str, Any] = {"rule": "absolute", "eps1": 1e9}  # every cluster of two or more is split in every round
NEVER: dict[str, Any] = {"rule": "absolute"}  # no norm is under 0


def at(number: int, participation: float = 1.0) -> Round:
    return Round(number, seed=7, participation=participation)


def begun(method: fc.CFL, fleet: Pulling) -> CFLState:
    size = len(next(iter(fleet.points.values())))
    return method.start(fleet.fleet(), lambda _: np.zeros(size, np.float32), at(0))[0]


def rounds(method: fc.CFL, fleet: Pulling, count: int, participation: float = 1.0) -> CFLState:
    tree = begun(method, fleet)
    for number in range(1, count + 1):
        tree, _ = method.round(tree, fleet.fleet(), at(number, participation))
    return tree


def everybody(tree: CFLState) -> Assignment:
    return fc.CFL().assignment(tree)
