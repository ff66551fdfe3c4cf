"""Finding groups without a run: one trip to every client, nothing trained, nothing on disk."""

from collections.abc import Callable

from fedclade.core import Round
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods.flt.found_groups import FoundGroups
from fedclade.nets import net_for


def find_groups(
    federation: Federation, find: Callable[[Fleet, Round], FoundGroups], *, seed: int = 0, workers: int = 0
) -> FoundGroups:
    """The one-shot step of a method on all clients that are there at the start."""
    net = net_for(
        "logistic", federation.shape, federation.classes, task=federation.task
    )  # a fleet has a net; nobody asks for it here
    with simulated_fleet(federation, net, workers=workers) as fleet:
        return find(fleet, Round(0, seed))
