"""A method of one's own: everybody learns from everybody, the more the likelier they are of one kind.

Run: python examples/own_method.py
"""

from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

import numpy as np

import fedclade as fc
from fedclade.core import Assignment, ClientId, Round, Row, settings
from fedclade.fleet import Fleet
from fedclade.methods import Facts, First, Needs


@dataclass(frozen=True, eq=False)
class Models:
    """Everybody's model, and the one that all of them started from."""

    current: Assignment
    first: Row


@settings
class CosineMixing:
    """Everybody learns from everybody, by the angles between how far their models have moved."""

    sharpness: float = 5.0
    """0: all equal, as in FedAvg; large: everybody alone, as in Local."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Models, Facts]:
        return Models(Assignment.of_one(first(0), fleet.clients()), first(0)), {}

    def round(self, state: Models, fleet: Fleet, now: Round) -> tuple[Models, Facts]:
        updates = fleet.train(state.current.restrict(now.sample(fleet.clients())), now)
        moved = updates.rows - state.first
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        likeness = np.exp(self.sharpness * (moved @ moved.T))
        mixing = likeness / likeness.sum(axis=1, keepdims=True)  # A: who learns from whom
        models = state.current.with_own_rows(updates.clients, mixing @ updates.rows)  # W' = A W
        return replace(state, current=models), {"heard": len(updates.clients)}

    def assignment(self, state: Models) -> Assignment:
        return state.current

    def place(self, state: Models, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> tuple[Models, Facts]:
        rows = np.repeat(state.first[None, :], len(newcomers), axis=0)
        return replace(state, current=state.current.with_own_rows(newcomers, rows)), {}


fc.register("kindred", CosineMixing)
federation = fc.data.build(source="digits", world="label-permutation", clients=12, groups=3, seed=0)
with TemporaryDirectory() as folder:
    compared = fc.compare(
        federation, [fc.FedAvg(), fc.Local(), CosineMixing()], rounds=4, participation=1.0, epochs=3, lr=0.1, out=folder
    )
    for line in compared.lines:
        print(f"{line.method:8} accuracy {line.accuracy:6.1%}, worst tenth {line.worst_tenth:6.1%}")
