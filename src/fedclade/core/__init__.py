"""Values that all rooms share: clients, groups, models in rows, rounds, settings, errors."""

from fedclade.core.assignment import Assignment, Row, Rows
from fedclade.core.errors import Damaged, Diverged, FedcladeError, InputError, NameTaken, Stopped
from fedclade.core.groups import Groups
from fedclade.core.ids import ClientId, checked_ids
from fedclade.core.mixture import Mixture
from fedclade.core.moments import Moments
from fedclade.core.points import Encoding, Points
from fedclade.core.rounds import Round, generator
from fedclade.core.settings import settings
from fedclade.core.training import LocalTraining

__all__ = [
    "Assignment",
    "ClientId",
    "Damaged",
    "Diverged",
    "Encoding",
    "FedcladeError",
    "Groups",
    "InputError",
    "LocalTraining",
    "Mixture",
    "Moments",
    "NameTaken",
    "Points",
    "Round",
    "Row",
    "Rows",
    "Stopped",
    "checked_ids",
    "generator",
    "settings",
]
