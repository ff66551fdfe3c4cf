"""One algorithm a file. A method sees a fleet and a round; never examples, tensors, sockets or the truth."""

from fedclade.methods.abc import ABC
from fedclade.methods.cfl import CFL
from fedclade.methods.ditto import Ditto
from fedclade.methods.fedavg import FedAvg
from fedclade.methods.fedprox import FedProx
from fedclade.methods.fedsem import FedSEM
from fedclade.methods.finetune import FineTuned
from fedclade.methods.flt import FLT
from fedclade.methods.ifca import IFCA
from fedclade.methods.local import Local
from fedclade.methods.needs import Needs, Network
from fedclade.methods.pca import PCA
from fedclade.methods.protocol import AnyMethod, Fact, Facts, First, Method
from fedclade.methods.registry import METHODS, Known, method_named, name_of, register
from fedclade.methods.selection import Selection, Standing, selected
from fedclade.relate.discovery import Found

__all__ = [
    "ABC",
    "CFL",
    "FLT",
    "IFCA",
    "METHODS",
    "PCA",
    "AnyMethod",
    "Ditto",
    "Fact",
    "Facts",
    "FedAvg",
    "FedProx",
    "FedSEM",
    "FineTuned",
    "First",
    "Found",
    "Known",
    "Local",
    "Method",
    "Needs",
    "Network",
    "Selection",
    "Standing",
    "method_named",
    "name_of",
    "register",
    "selected",
]

register("fedavg", FedAvg, demo=True)
register("fedprox", FedProx)
register("local", Local, demo=True)
register("flt", FLT, demo=True, finds_groups=True)
register("ifca", IFCA, finds_groups=True)
register("fedsem", FedSEM, finds_groups=True)
register("pca-km-hc", PCA)
register("fedavg-ft", FineTuned)
register("ditto", Ditto)
register("cfl", CFL, finds_groups=True)
register("abc", ABC)
