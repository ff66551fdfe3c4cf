"""A real fleet: what a Flower app is made of, and the files and commands of one.

from fedclade.deploy import client_app, server_app

The two names need Flower and are loaded when asked for; `fedclade deploy init` and `check` do without it.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedclade.deploy.app import server_app
    from fedclade.deploy.site import client_app

__all__ = ["client_app", "server_app"]
_MODULE_BY_NAME = {"client_app": "fedclade.deploy.site", "server_app": "fedclade.deploy.app"}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: a site does not load what only a server needs."""
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'fedclade.deploy' has no attribute {name!r}")
    from fedclade.fleet.flower import require_flower

    require_flower("flwr")
    return getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)
