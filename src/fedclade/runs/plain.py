"""Values as JSON can hold them."""

import math
from collections.abc import Mapping

import numpy as np


def finite(value: object) -> object:
    """The same with None for NaN and infinity, which JSON does not have, and plain numbers for numpy's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
