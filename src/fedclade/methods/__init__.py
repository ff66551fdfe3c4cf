"""Methods, one algorithm a file. A method sees a fleet and a round; never examples, tensors, sockets or the truth."""

from fedclade.methods.abc.abc import ABC
from fedclade.methods.abc.selection import Selection, SelectionState, select_participants
from fedclade.methods.cfl.cfl import CFL
from fedclade.methods.ditto import Ditto
from fedclade.methods.fedavg import FedAvg
from fedclade.methods.fedprox import FedProx
from fedclade.methods.fedsem.fedsem import FedSEM
from fedclade.methods.fine_tuning import FineTuned
from fedclade.methods.flt.class_moments import ClassMoments
from fedclade.methods.flt.encoder import Encoder
from fedclade.methods.flt.flt import FLT
from fedclade.methods.flt.found_groups import FoundGroups
from fedclade.methods.ifca import IFCA
from fedclade.methods.local import Local
from fedclade.methods.needs import Needs, Network
from fedclade.methods.pca_kmeans_hc import PCAKMeansHC
from fedclade.methods.protocol import AnyMethod, Fact, Facts, First, Method
from fedclade.methods.registry import METHODS, MethodEntry, method_named, name_of, register

__all__ = [
    "ABC",
    "CFL",
    "FLT",
    "IFCA",
    "METHODS",
    "AnyMethod",
    "ClassMoments",
    "Ditto",
    "Encoder",
    "Fact",
    "Facts",
    "FedAvg",
    "FedProx",
    "FedSEM",
    "FineTuned",
    "First",
    "FoundGroups",
    "Local",
    "Method",
    "MethodEntry",
    "Needs",
    "Network",
    "PCAKMeansHC",
    "Selection",
    "SelectionState",
    "method_named",
    "name_of",
    "register",
    "select_participants",
]

register("fedavg", FedAvg, demo=True)
register("fedprox", FedProx)
register("local", Local, demo=True)
register("flt", FLT, demo=True, finds_groups=True)
register("ifca", IFCA, finds_groups=True)
register("fedsem", FedSEM, finds_groups=True)
register("pca-km-hc", PCAKMeansHC)
register("fedavg-ft", FineTuned)
register("ditto", Ditto)
register("cfl", CFL, finds_groups=True)
register("abc", ABC)
