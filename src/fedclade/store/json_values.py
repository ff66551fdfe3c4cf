"""Values for JSON, and values of JSON that another program may have written: each reader takes anything."""

import json
import math
from collections.abc import Mapping

import numpy as np

MAX_EXACT = 2.0**53  # whole numbers below this stay whole


def json_value(value: object) -> object:
    """The same with None for NaN and infinity, which JSON does not have, and plain numbers for numpy's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return value


def as_object(text: bytes) -> dict[str, object]:
    """A JSON object; empty if it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """A finite number; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    if not math.isfinite(found):
        return None
    return value if abs(found) < MAX_EXACT else found


def count(value: object) -> int:
    """A whole number from 0 on; 0 if it is none."""
    found = number(value)
    return int(found) if found is not None and found > 0 else 0


def as_list(value: object) -> list[object]:
    """The value, if it is a list."""
    return value if isinstance(value, list) else []


def as_mapping(value: object) -> dict[str, object]:
    """An object of JSON; an empty one in the place of anything else."""
    return value if isinstance(value, dict) else {}
