"""A small net."""

import math
from typing import Annotated

from pydantic import Field
from torch import nn

from fedclade.core import settings


@settings
class Tanh:
    """One hidden layer with tanh."""

    hidden: Annotated[int, Field(ge=1, le=10**6)] = 16

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Any shape of input is flattened."""
        width = math.prod(inputs)
        return nn.Sequential(nn.Flatten(), nn.Linear(width, self.hidden), nn.Tanh(), nn.Linear(self.hidden, classes))
