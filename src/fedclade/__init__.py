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
    from fedclade.core import Diverged, FedcladeError, Groups
    from fedclade.core.training import SGD, Adam, AdamW, ConstantSchedule, CosineSchedule, StepSchedule
    from fedclade.data import Federation
    from fedclade.methods import (
        ABC,
        CFL,
        FLT,
        IFCA,
        ClassMoments,
        Ditto,
        Encoder,
        FedAvg,
        FedProx,
        FedSEM,
        FineTuned,
        Local,
        PCAKMeansHC,
        register,
    )
    from fedclade.nets.own_task import OwnTask
    from fedclade.runs.early_stopping import EarlyStopping
    from fedclade.runs.loop import RunProgress
    from fedclade.runs.run import Run

__version__ = "0.1.0"

_NAMES = {
    "fedclade.api": ("Comparison", "compare", "find_groups", "resume", "train"),
    "fedclade.core": ("Diverged", "FedcladeError", "Groups"),
    "fedclade.core.training": ("SGD", "Adam", "AdamW", "ConstantSchedule", "CosineSchedule", "StepSchedule"),
    "fedclade.data": ("Federation",),
    "fedclade.methods": (
        *("ABC", "CFL", "Ditto", "FLT", "FedAvg", "FedProx", "FedSEM", "FineTuned", "IFCA", "Local", "PCAKMeansHC"),
        *("ClassMoments", "Encoder", "register"),
    ),
    "fedclade.nets.own_task": ("OwnTask",),
    "fedclade.runs.early_stopping": ("EarlyStopping",),
    "fedclade.runs.loop": ("RunProgress",),
    "fedclade.runs.run": ("Run",),
}
_MODULE_BY_NAME = {"data": "fedclade.data", **{name: module for module, names in _NAMES.items() for name in names}}

__all__ = [
    "ABC",
    "CFL",
    "FLT",
    "IFCA",
    "SGD",
    "Adam",
    "AdamW",
    "ClassMoments",
    "Comparison",
    "ConstantSchedule",
    "CosineSchedule",
    "Ditto",
    "Diverged",
    "EarlyStopping",
    "Encoder",
    "FedAvg",
    "FedProx",
    "FedSEM",
    "FedcladeError",
    "Federation",
    "FineTuned",
    "Groups",
    "Local",
    "OwnTask",
    "PCAKMeansHC",
    "Run",
    "RunProgress",
    "StepSchedule",
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
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'fedclade' has no attribute {name!r}")
    module = importlib.import_module(_MODULE_BY_NAME[name])
    found = module if name == "data" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
