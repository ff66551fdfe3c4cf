"""Finding groups without a run: one trip to every client, nothing trained, nothing on disk."""

from collections.abc import Callable

from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.nouns import Round
from fedclade.relate.discovery import Found


def find_groups(
    federation: Federation, find: Callable[[Fleet, Round], Found], *, seed: int = 0, workers: int = 0
) -> Found:
    """The one-shot step of a method on all clients that are there at the start."""
    net = net_for("logistic", federation.shape, federation.classes)  # a fleet has a net; nobody asks for it here
    with simulated_fleet(federation, net, workers=workers) as fleet:
        return find(fleet, Round(0, seed))
