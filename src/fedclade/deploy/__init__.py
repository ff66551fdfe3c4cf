"""A real fleet: what a Flower app is made of, and the files and commands of one.

from fedclade.deploy import client_app, server_app

The two names need Flower and are loaded when asked for; `fedclade deploy init` and `check` do without it.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedclade.deploy.app import client_app, server_app

__all__ = ["client_app", "server_app"]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'fedclade.deploy' has no attribute {name!r}")
    from fedclade.runs.venue import need_flower

    need_flower("flwr")
    return getattr(importlib.import_module("fedclade.deploy.app"), name)
