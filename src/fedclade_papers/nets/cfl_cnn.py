"""The five-layer convolutional net of CFL's experiments on CIFAR-10 (section V-D).

The paper says only that it has five layers: three 3 x 3 convolutions, each with ReLU and pooling, and two linear layers
are ours.
"""

from torch import nn

from fedclade.core import settings
from fedclade.nets.images import image_shape, pooled_convolution


@settings
class CflCNN:
    """Three 3 x 3 convolutions with pooling and two linear layers (CFL): 188,810 parameters for 3 x 32 x 32."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Images, 8 x 8 or larger."""
        channels, height, width = image_shape("cfl_cnn", inputs, 8)
        return nn.Sequential(
            *pooled_convolution(channels, 32, 3, padding=1),
            *pooled_convolution(32, 64, 3, padding=1),
            *pooled_convolution(64, 64, 3, padding=1),
            *(nn.Flatten(), nn.Linear(64 * (height // 8) * (width // 8), 128), nn.ReLU(), nn.Linear(128, classes)),
        )
