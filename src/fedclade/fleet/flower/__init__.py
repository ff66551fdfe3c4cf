"""A fleet over Flower: the clients are SuperNodes, simulated or at real sites. Only this folder imports flwr.

Every verb is a kind of message, with any number of models in it (`messages`). The server sends and collects by itself,
with a deadline for each verb, and what arrives goes through the same gate as everywhere (`grid`): a client that is
late, dead, failing or lying is a missing reply with its reason. A client says its name when it enrols; node ids, which
are numbers of 64 bits, stay in this folder. `apps` are what Flower starts, `simulation` is its own simulation on Ray.
"""

import importlib.util
import os

from fedclade.core import InputError

# Read when flwr is imported.
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or Ray warns about graphics cards


def require_flower(*packages: str) -> None:
    """An error unless these packages of Flower, which is an extra, are installed."""
    if any(importlib.util.find_spec(package) is None for package in packages):
        do = "pip install 'fedclade[flower]'"
        raise InputError("Flower is not installed", where="engine.name", got='"flower"', need="flwr 1.41", do=do)
