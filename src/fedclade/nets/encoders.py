"""Encoders: what turns an example into a few numbers that clients can compare. The same at every client.

pixels   the example as it is, flattened
public   images in a public basis, the 32 first principal components of Fashion-MNIST; colours in 24 more numbers.
         Tables as they are: bring standardised features. Texts as a bag of words, in as many bins as a text has words
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns.settings import unknown

SIDE = 28  # pixels of an image in the basis
COMPONENTS, COLOURS = 32, 12  # of the light, and of each of two differences of colours
BASIS = "fashion-mnist-pca32.safetensors"

Floats = NDArray[np.float32]
Inputs = NDArray[np.float32] | NDArray[np.int64]


class Encoder(Protocol):
    """From examples to numbers."""

    def width(self, shape: Sequence[int]) -> int:
        """How many numbers an example of this shape becomes."""
        ...

    def encode(self, inputs: Inputs) -> Floats:
        """(examples, width), from (examples, ...)."""
        ...


class Pixels:
    """The example as it is, flattened."""

    def width(self, shape: Sequence[int]) -> int:
        return prod(shape)

    def encode(self, inputs: Inputs) -> Floats:
        return inputs.reshape(len(inputs), -1).astype(np.float32)


class Public:
    """Images in a public basis, tables as they are, texts as a bag of words."""

    def width(self, shape: Sequence[int]) -> int:
        if len(shape) < 2:
            return prod(shape)
        return COMPONENTS + 2 * COLOURS if coloured(shape) else COMPONENTS

    def encode(self, inputs: Inputs) -> Floats:
        if inputs.ndim > 2:
            return in_basis(inputs.astype(np.float32))
        if inputs.dtype == np.int64:
            return bag_of_words(inputs.astype(np.int64, copy=False))
        return inputs.astype(np.float32)


def coloured(shape: Sequence[int]) -> bool:
    """Whether images of this shape have red, green and blue."""
    return len(shape) == 3 and shape[0] == 3


def in_basis(images: Floats) -> Floats:
    """(images, 32 or 56): the light, and for colours red - green and blue - yellow, in the first components."""
    middle, components = basis()
    if not coloured(images.shape[1:]):
        light = images.reshape(len(images), -1, *images.shape[-2:]).mean(axis=1, dtype=np.float32)
        return placed(resized(light) - middle, components)
    red, green, blue = images.transpose(1, 0, 2, 3)
    parts = [placed(resized(images.mean(axis=1, dtype=np.float32)) - middle, components)]
    parts += [placed(resized(each), components[:COLOURS]) for each in (red - green, blue - (red + green) / 2)]
    return np.concatenate(parts, axis=1)


def placed(flat: Floats, components: Floats) -> Floats:
    """Each image's place in these components."""
    found: Floats = (flat @ components.T).astype(np.float32)
    return found


def resized(images: Floats) -> Floats:
    """(images, 784): each (height, width) resampled to 28 x 28 by bilinear interpolation, then flattened."""
    _, height, width = images.shape
    if (height, width) != (SIDE, SIDE):
        images = np.einsum("ih,nhw,jw->nij", between(height), images, between(width), optimize=True)
    return images.reshape(len(images), SIDE * SIDE)


@lru_cache(maxsize=8)
def between(length: int) -> Floats:
    """(28, length): what each pixel of the new line takes from the old ones; pixel centres keep their places."""
    places = np.clip((np.arange(SIDE) + 0.5) * length / SIDE - 0.5, 0, length - 1)
    low = np.minimum(places.astype(np.int64), max(length - 2, 0))
    weights = np.zeros((SIDE, length), np.float32)
    weights[np.arange(SIDE), low] = 1 - (places - low)
    weights[np.arange(SIDE), np.minimum(low + 1, length - 1)] += places - low
    return weights


@lru_cache(maxsize=1)
def basis() -> tuple[Floats, Floats]:
    """The mean image (784,) and the principal components (32, 784) of Fashion-MNIST, as they are shipped."""
    from safetensors.numpy import load

    found = load((files("fedclade.nets") / "shipped" / BASIS).read_bytes())
    return found["mean"].astype(np.float32), found["components"].astype(np.float32)


def bag_of_words(texts: NDArray[np.int64]) -> Floats:
    """(texts, length): how often a text's words fall into each of so many bins; 0, the filler, counts nowhere."""
    bins = texts.shape[1]
    where = (texts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    found = np.zeros(texts.shape, np.float32)
    rows = np.arange(len(texts)).repeat(bins)
    np.add.at(found, (rows, (where % np.uint64(bins)).astype(np.int64).reshape(-1)), (texts != 0).reshape(-1))
    return found


ENCODERS: dict[str, Encoder] = {"pixels": Pixels(), "public": Public()}


def encoder_named(name: str) -> Encoder:
    """The encoder of this name."""
    if name not in ENCODERS:
        raise unknown("the encoder", "sketch", name, ENCODERS)
    return ENCODERS[name]


def width_of(name: str, shape: Sequence[int]) -> int:
    """How many numbers this encoder makes of an example of this shape."""
    return encoder_named(name).width(shape)
