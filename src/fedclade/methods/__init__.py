"""One algorithm a file. A method sees a fleet and a round; never examples, tensors, sockets or the truth."""

from fedclade.methods.fedavg import FedAvg
from fedclade.methods.fedprox import FedProx
from fedclade.methods.flt import FLT
from fedclade.methods.local import Local
from fedclade.methods.protocol import AnyMethod, Facts, First, Method
from fedclade.methods.registry import METHODS, Known, method_named, name_of, register
from fedclade.relate.discovery import Found

__all__ = [
    "FLT",
    "METHODS",
    "AnyMethod",
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
