"""What convolutional nets have in common: they read images of a least size."""

from fedclade.nouns import InputError


def image_shape(net: str, inputs: tuple[int, ...], least: int) -> tuple[int, int, int]:
    """Channels, height and width; an error unless the inputs are images of at least this size."""
    if len(inputs) != 3 or min(inputs[1:]) < least:
        raise InputError(
            f"{net} cannot read these inputs",
            where="net.name",
            got=str(inputs),
            need=f"(channels, height, width) from {least} x {least}",
        )
    channels, height, width = inputs
    return channels, height, width
