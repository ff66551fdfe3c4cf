"""A convolutional net of LeNet's size: two 5 x 5 convolutions with pooling, then 120 and 84 units."""

from torch import nn

from fedclade.nouns import InputError, settings


@settings
class LeNet:
    """LeNet-5's layers with ReLU and max-pooling: 61,706 parameters for 28 x 28 and 10 classes."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module:
        """Images (channels, height, width), 6 x 6 or larger. Padded, so that small ones keep something to pool."""
        if len(inputs) != 3 or min(inputs[1:]) < 6:
            raise InputError(
                "lenet cannot read these inputs",
                where="net.name",
                got=str(inputs),
                need="(channels, height, width) from 6 x 6",
            )
        channels, height, width = inputs
        # 28 x 28 is LeNet's own size: padding 2, then none. Smaller images are padded twice.
        second = 0 if min(height, width) >= 14 else 2
        rows, columns = ((side // 2 - 4 + 2 * second) // 2 for side in (height, width))
        return nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5, padding=second),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * rows * columns, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, classes),
        )
