"""The clients as a server can reach them: one Fleet with all verbs, over one transport, through one gate."""

from fedclade.fleet.fleet import Fleet, ModelShape, Observer, Sketching, WeightFiles
from fedclade.fleet.ledger import Ledger
from fedclade.fleet.results import ClientMoments, Flags, Losses, Means, Scatter, Scores, Sketches, Updates
from fedclade.fleet.transport import Enrolment, Transport

__all__ = [
    "ClientMoments",
    "Enrolment",
    "Flags",
    "Fleet",
    "Ledger",
    "Losses",
    "Means",
    "ModelShape",
    "Observer",
    "Scatter",
    "Scores",
    "Sketches",
    "Sketching",
    "Transport",
    "Updates",
    "WeightFiles",
]
