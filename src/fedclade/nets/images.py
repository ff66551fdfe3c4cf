"""What convolutional nets have in common: they read images of a least size, and pool."""

from torch import nn

from fedclade.core import InputError


def image_shape(net: str, inputs: tuple[int, ...], min_side: int) -> tuple[int, int, int]:
    """Channels, height and width; an error unless the inputs are images of at least this size."""
    if len(inputs) != 3 or min(inputs[1:]) < min_side:
        need = f"(channels, height, width) from {min_side} x {min_side}"
        raise InputError(f"{net} cannot read these inputs", where="net.name", got=str(inputs), need=need)
    channels, height, width = inputs
    return channels, height, width


def pooled_convolution(inputs: int, outputs: int, side: int, padding: int) -> tuple[nn.Module, ...]:
    """A square convolution from and to so many channels, ReLU, and 2 x 2 max-pooling."""
    return nn.Conv2d(inputs, outputs, side, padding=padding), nn.ReLU(), nn.MaxPool2d(2)
