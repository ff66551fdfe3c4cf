"""One algorithm a file. A method sees a fleet and a round; never examples, tensors, sockets or the truth."""

from fedclade.methods.cfl import CFL
from fedclade.methods.fedavg import FedAvg
from fedclade.methods.fedprox import FedProx
from fedclade.methods.flt import FLT
from fedclade.methods.local import Local
from fedclade.methods.protocol import AnyMethod, Fact, Facts, First, Method
from fedclade.methods.registry import METHODS, Known, method_named, name_of, register
from fedclade.relate.discovery import Found

__all__ = [
    "CFL",
    "FLT",
    "METHODS",
    "AnyMethod",
    "Fact",
    "Facts",
    "FedAvg",
    "FedProx",
    "First",
    "Found",
    "Known",
    "Local",
    "Method",
    "method_named",
    "name_of",
    "register",
]

register("fedavg", FedAvg, demo=True)
register("fedprox", FedProx)
register("local", Local, demo=True)
register("flt", FLT, demo=True, finds_groups=True)
register("cfl", CFL, finds_groups=True)
