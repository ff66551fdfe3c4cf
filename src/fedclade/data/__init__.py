"""Examples, and how they are spread over clients.

federation = build(source="digits", world="classes", clients=20, groups=4, seed=0)
federation["client-07"].train.inputs, federation.truth
"""

import importlib
from typing import TYPE_CHECKING

from fedclade.data.arrays import from_arrays
from fedclade.data.examples import Part, Pool, Source
from fedclade.data.federation import ClientData, Federation
from fedclade.data.own import OwnData
from fedclade.data.recipe import build
from fedclade.data.registry import SOURCES, WORLDS

if TYPE_CHECKING:
    from fedclade.data.load import from_file, from_folder, from_frame

LOADERS = ("from_file", "from_folder", "from_frame")
"""They know rooms above this one, and are only named here, for users."""

__all__ = [
    "SOURCES",
    "WORLDS",
    "ClientData",
    "Federation",
    "OwnData",
    "Part",
    "Pool",
    "Source",
    "build",
    "from_arrays",
    "from_file",
    "from_folder",
    "from_frame",
]


def __getattr__(name: str) -> object:
    """Load a loader when it is asked for."""
    if name not in LOADERS:
        raise AttributeError(f"module 'fedclade.data' has no attribute {name!r}")
    found: object = getattr(importlib.import_module("fedclade.data.load"), name)
    globals()[name] = found
    return found
