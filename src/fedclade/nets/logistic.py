"""Multinomial logistic regression."""

import math

from torch import nn

from fedclade.core import settings


@settings
class Logistic:
    """Logistic regression: one linear layer."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Any shape of input is flattened."""
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(inputs), classes))
