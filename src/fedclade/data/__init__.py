"""Examples, and how they are spread over clients.

federation = build(source="digits", world="classes", clients=20, groups=4, seed=0)
federation["client-07"].train.inputs, federation.truth
"""

from fedclade.data.federation import ClientData, Federation, Part, Pool, Source
from fedclade.data.own import from_arrays
from fedclade.data.registry import SOURCES, WORLDS, build

__all__ = ["SOURCES", "WORLDS", "ClientData", "Federation", "Part", "Pool", "Source", "build", "from_arrays"]
