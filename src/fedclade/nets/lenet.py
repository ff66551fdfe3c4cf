"""A convolutional net of LeNet's size: two 5 x 5 convolutions with pooling, then 120 and 84 units."""

from torch import nn

from fedclade.core import settings
from fedclade.nets.images import image_shape, pooled_convolution


@settings
class LeNet:
    """LeNet-5's layers with ReLU and max-pooling: 61,706 parameters for 28 x 28 and 10 classes."""

    padded: bool = True
    """Whether images are padded; without, it is the net of FLT's published code: 62,006 parameters for CIFAR-10."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Images (channels, height, width): 6 x 6 or larger, 16 x 16 without padding."""
        channels, height, width = image_shape("lenet", inputs, 6 if self.padded else 16)
        # 28 x 28 is LeNet's own size: padding 2, then none. Smaller images are padded twice.
        first = 2 if self.padded else 0
        second = 0 if min(height, width) >= 14 else first
        rows, columns = (((side - 4 + 2 * first) // 2 - 4 + 2 * second) // 2 for side in (height, width))
        return nn.Sequential(
            *pooled_convolution(channels, 6, 5, padding=first),
            *pooled_convolution(6, 16, 5, padding=second),
            *(nn.Flatten(), nn.Linear(16 * rows * columns, 120), nn.ReLU()),
            *(nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, classes)),
        )
