"""A small convolutional net for ABC, whose attention network reads all of a model's numbers.

The paper says: "a CNN with a fully convolutional backbone with ReLU non-linearity, and the head of the network is a
stack of linear layers". The sizes are ours.
"""

from torch import nn

from fedclade.nets.images import image_shape
from fedclade.nouns import settings


@settings
class AbcCNN:
    """Three 3 x 3 convolutions with stride 2 and two linear layers (ABC): 12,122 parameters for 28 x 28."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Images of any size."""
        channels, height, width = image_shape("abc_cnn", inputs, 1)
        rows, columns = (-(-side // 8) for side in (height, width))  # each convolution halves, rounded up
        return nn.Sequential(
            nn.Conv2d(channels, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * rows * columns, 32),
            nn.ReLU(),
            nn.Linear(32, classes),
        )
