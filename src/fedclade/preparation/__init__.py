"""Fitting a preparation: how the raw columns of all clients' tables become inputs.

Everything comes through the verbs of the fleet, as flags, counts and sums: nothing here sees a row, and it works in the
same way on tables of this machine and at sites.
"""

from fedclade.preparation.fit import fit_preparation
from fedclade.preparation.label import decide_task

__all__ = ["decide_task", "fit_preparation"]
