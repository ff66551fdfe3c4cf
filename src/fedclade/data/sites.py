"""Examples that stay at their sites: the server knows their form, and nothing else of them."""

from typing import Annotated

from pydantic import Field

from fedclade.data.labels import MOST_CLASSES
from fedclade.nouns import settings


@settings
class Sites:
    """Every site loads its own examples; only their form is told."""

    shape: Annotated[tuple[Annotated[int, Field(ge=1, le=10**9)], ...], Field(min_length=1, max_length=8)]
    """Of one example."""
    classes: Annotated[int, Field(ge=2, le=MOST_CLASSES)]
    """Labels are whole numbers from 0 to one less."""
