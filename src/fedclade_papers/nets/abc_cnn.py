"""A small convolutional net for ABC, whose attention network reads all of a model's numbers.

The paper says: "a CNN with a fully convolutional backbone with ReLU non-linearity, and the head of the network is a
stack of linear layers". The sizes are ours.
"""

from typing import Literal

from torch import nn

from fedclade.core import settings
from fedclade.nets.images import image_shape


@settings
class AbcCNN:
    """Three 3 x 3 convolutions with stride 2 and two linear layers (ABC): 12,122 parameters for 28 x 28."""

    start: Literal["he", "torch"] = "he"
    """First weights: He's (2015), with which it learns at once, or torch's own, with which pixels from 0 to 1 and steps
    of 0.01 stand still for hundreds of rounds."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Images of any size."""
        channels, height, width = image_shape("abc_cnn", inputs, 1)
        rows, columns = (-(-side // 8) for side in (height, width))  # each convolution halves, rounded up
        module = nn.Sequential(
            *(nn.Conv2d(channels, 8, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(16 * rows * columns, 32), nn.ReLU(), nn.Linear(32, classes)),
        )
        for layer in module:
            if self.start == "he" and isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)  # type: ignore[arg-type]  # these have one
        return module
