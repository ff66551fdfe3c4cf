"""Examples that stay at their sites: the server knows their form, and nothing else of them."""

from typing import Annotated

from pydantic import Field

from fedclade.core import settings
from fedclade.data.labels import MAX_CLASSES


@settings
class Sites:
    """Every site loads its own examples; the server knows only their form."""

    shape: Annotated[tuple[Annotated[int, Field(ge=1, le=10**9)], ...], Field(min_length=1, max_length=8)]
    """Of one example."""
    classes: Annotated[int, Field(ge=2, le=MAX_CLASSES)]
    """Labels are whole numbers from 0 to one less."""
