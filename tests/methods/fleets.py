"""A small fleet of real digits, and what a method's round can be compared with."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from fedclade.core import LocalTraining, Round
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import First
from fedclade.nets import Net, net_for

LOCAL = LocalTraining(epochs=1, batch=10, lr=0.1)


@contextmanager
def fleet_of(federation: Federation, net: str = "logistic") -> Iterator[tuple[Fleet, Net, First]]:
    """A fleet in this process, its net, and the first models of seed 3."""
    made = net_for(net, federation.shape, federation.classes)
    with simulated_fleet(federation, made, workers=0) as fleet:
        yield fleet, made, partial(made.initial_row, 3)


def now(number: int, participation: float = 1.0, *, evaluated: bool = False) -> Round:
    return Round(number, 3, participation, LOCAL, evaluated=evaluated)
