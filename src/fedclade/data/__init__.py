"""Examples, and how they are spread over clients.

federation = build(source="digits", world="classes", clients=20, groups=4, seed=0)
federation["client-07"].train.inputs, federation.truth
"""

from fedclade.data.arrays import from_arrays
from fedclade.data.examples import Part, Pool, Source
from fedclade.data.federation import ClientData, Federation
from fedclade.data.folders import from_folder
from fedclade.data.own import OwnData
from fedclade.data.recipe import build
from fedclade.data.registry import SOURCES, WORLDS
from fedclade.data.tables import from_file, from_frame

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
