"""Finding groups without a run: one trip to every client, nothing trained, nothing on disk."""

from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import FLT, Found
from fedclade.nets import net_for
from fedclade.nouns import InputError, Round


def find_groups(federation: Federation, method: FLT, *, seed: int = 0, workers: int = 0) -> Found:
    """The one-shot step of FLT on everybody who is there at the start."""
    if not isinstance(method, FLT):
        raise InputError(
            "this method has no one-shot step",
            where="find_groups",
            got=type(method).__name__,
            need="fc.FLT(...)",
            do="train with it: fc.train(federation, method).groups",
        )
    net = net_for("logistic", federation.shape, federation.classes)  # a fleet has a net; nobody asks for it here
    with simulated_fleet(federation, net, workers=workers) as fleet:
        return method.find(fleet, Round(0, seed))
