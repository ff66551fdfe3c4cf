"""The FLT paper's multi-layer perceptron (its table 11): one hidden layer of 200, dropout, ReLU."""

import math
from typing import Annotated

from pydantic import Field
from torch import nn

from fedclade.core import settings


@settings
class MLP:
    """One hidden layer with ReLU (FLT): 159,010 parameters for 28 x 28 and 10 classes."""

    hidden: Annotated[int, Field(ge=1, le=10**6)] = 200
    """Units in the hidden layer."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """The share of them that a step of training leaves out."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Any shape of input is flattened."""
        hidden, outputs = nn.Linear(math.prod(inputs), self.hidden), nn.Linear(self.hidden, classes)
        return nn.Sequential(nn.Flatten(), hidden, nn.Dropout(self.dropout), nn.ReLU(), outputs)
