"""fedclade: clustered federated learning.

import fedclade as fc

federation = fc.data.build(source="digits", world="classes", clients=20, groups=4, seed=0)
groups = fc.find_groups(federation)
run = fc.train(federation, fc.FLT(), net="mlp", rounds=20, participation=0.2)
run.accuracy, run.worst_tenth, run.model_for("client-07")
fc.compare(federation, [fc.FedAvg(), fc.Local()], seeds=3, rounds=20).report("report.html")
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedclade import data
    from fedclade.api import Comparison, compare, find_groups, resume, train
    from fedclade.data import Federation
    from fedclade.methods import ABC, CFL, FLT, IFCA, PCA, Ditto, FedAvg, FedProx, FedSEM, FineTuned, Local, register
    from fedclade.nouns import FedcladeError, Groups
    from fedclade.runs.run import Run

__version__ = "0.1.0"

_HOMES = {
    "data": "fedclade.data",
    "ABC": "fedclade.methods",
    "CFL": "fedclade.methods",
    "Comparison": "fedclade.api",
    "Ditto": "fedclade.methods",
    "FLT": "fedclade.methods",
    "FedAvg": "fedclade.methods",
    "FedProx": "fedclade.methods",
    "FedSEM": "fedclade.methods",
    "FedcladeError": "fedclade.nouns",
    "Federation": "fedclade.data",
    "FineTuned": "fedclade.methods",
    "Groups": "fedclade.nouns",
    "IFCA": "fedclade.methods",
    "Local": "fedclade.methods",
    "PCA": "fedclade.methods",
    "Run": "fedclade.runs.run",
    "compare": "fedclade.api",
    "find_groups": "fedclade.api",
    "register": "fedclade.methods",
    "resume": "fedclade.api",
    "train": "fedclade.api",
}

__all__ = [
    "ABC",
    "CFL",
    "FLT",
    "IFCA",
    "PCA",
    "Comparison",
    "Ditto",
    "FedAvg",
    "FedProx",
    "FedSEM",
    "FedcladeError",
    "Federation",
    "FineTuned",
    "Groups",
    "Local",
    "Run",
    "__version__",
    "compare",
    "data",
    "find_groups",
    "register",
    "resume",
    "train",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: `import fedclade` costs nothing, torch costs seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module 'fedclade' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    found = home if name == "data" else getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
