"""Facts: what a method reports of a round, as plain data."""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Fact: TypeAlias = bool | int | float | str | list["Fact"] | dict[str, "Fact"] | NDArray[np.generic] | None
Facts: TypeAlias = Mapping[str, Fact]
"""They go into a run's events as JSON, arrays into a file beside them."""
