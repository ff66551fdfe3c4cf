"""The few nouns that every room speaks: clients, groups, models in rows, rounds, settings, errors."""

from fedclade.nouns.assignment import Assignment, Row, Rows
from fedclade.nouns.clients import ClientId, checked_ids
from fedclade.nouns.errors import Damaged, FedcladeError, InputError, NameTaken, Stopped
from fedclade.nouns.groups import Groups
from fedclade.nouns.moments import Moments
from fedclade.nouns.points import Encoding, Points
from fedclade.nouns.rounds import LocalTraining, Round, generator
from fedclade.nouns.settings import settings

__all__ = [
    "Assignment",
    "ClientId",
    "Damaged",
    "Encoding",
    "FedcladeError",
    "Groups",
    "InputError",
    "LocalTraining",
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
