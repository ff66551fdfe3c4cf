"""FLT as others have it: what a preset says of the other settings, and that nobody contradicts it.

paper       Algorithm 2 as printed, but for the sign of its threshold: near clients are related, not far ones
published   what the authors' code does, but for its defects: k is not read from the truth, clients keep one encoder
            instead of handing one on, and averaging does not change what it is still averaging
"""

from collections.abc import Mapping
from typing import Literal

from fedclade.nouns import InputError

Preset = Literal["none", "paper", "published"]
SAYS: dict[str, dict[str, object]] = {
    "paper": {
        "signature": "encoder",
        "points": 5,
        "tuning": "clients",
        "tuning_epochs": 5,
        "embedding": "umap",
        "dimensions": 2,
        "distance": "smallest",
        "gamma": 1.0,
        "cut": "ward",
    },
    "published": {
        "signature": "encoder",
        "points": 5,
        "tuning": "together",
        "tuning_epochs": 5,
        "embedding": "umap",
        "dimensions": 2,
        "distance": "matched",
        "gamma": 1.0,
        "cut": "components",
        "case": "graph",
        "absent": "stale",
    },
}


def with_preset(given: Mapping[str, object]) -> dict[str, object]:
    """The settings that were given, and those of their preset; an error if the two differ."""
    preset = given.get("preset", "none")
    says = SAYS.get(preset, {}) if isinstance(preset, str) else {}
    for name, value in says.items():
        if name in given and given[name] != value:
            raise InputError(
                f"{name} contradicts the preset",
                where=f"FLT.{name}",
                got=repr(given[name]),
                need=f'{value!r}, as "{preset}" says',
                do="leave one of them out",
            )
    return {**given, **says}
