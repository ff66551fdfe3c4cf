"""LEAF's convolutional net for FEMNIST (Caldas et al., 2018), which FLT trains too (its table 12).

The table prints 63 channels and 3,459,582 parameters; LEAF's net has 64 and, for 28 x 28 and 62 classes, 6,603,710.
"""

from torch import nn

from fedclade.core import settings
from fedclade.nets.images import image_shape, pooled_convolution


@settings
class LeafCNN:
    """LEAF's two 5 x 5 convolutions and 2048 units (FLT): 6,603,710 parameters for 28 x 28 and 62 classes."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Images, 4 x 4 or larger."""
        channels, height, width = image_shape("leaf_cnn", inputs, 4)
        return nn.Sequential(
            *pooled_convolution(channels, 32, 5, padding=2),
            *pooled_convolution(32, 64, 5, padding=2),
            *(nn.Flatten(), nn.Linear(64 * (height // 4) * (width // 4), 2048), nn.ReLU(), nn.Linear(2048, classes)),
        )
