"""Encoders: what turns an example into a few numbers that clients can compare. The same at every client.

Every client has these:

pixels   the example as it is, flattened
public   images in a public basis, the 32 first principal components of Fashion-MNIST; colours in 24 more numbers.
         Tables as they are: bring standardised features. Texts as a bag of words, in as many bins as a text has words

These have weights, which the server sends (see `shelf` for the files that they come from):

convae, convae-colour   images through the encoding half of an autoencoder
standardised            tables, less a mean and over a scale
embedding               texts as the mean of their words' vectors
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedclade.nets.convae import FORMS, LATENT, autoencoder, encoder
from fedclade.nouns import InputError, Row
from fedclade.nouns.settings import unknown

SIDE = 28  # pixels of an image in the basis
COMPONENTS, COLOURS = 32, 12  # of the light, and of each of two differences of colours
AT_ONCE = 1000  # images that go through an autoencoder together
EMBEDDED = 32  # numbers of a word
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


def resized(images: Floats, side: int = SIDE) -> Floats:
    """(images, side²): each (height, width) resampled by bilinear interpolation, then flattened."""
    _, height, width = images.shape
    if (height, width) != (side, side):
        images = np.einsum("ih,nhw,jw->nij", between(height, side), images, between(width, side), optimize=True)
    return images.reshape(len(images), side * side)


@lru_cache(maxsize=8)
def between(length: int, side: int) -> Floats:
    """(side, length): what each pixel of the new line takes from the old ones; pixel centres keep their places."""
    places = np.clip((np.arange(side) + 0.5) * length / side - 0.5, 0, length - 1)
    low = np.minimum(places.astype(np.int64), max(length - 2, 0))
    weights = np.zeros((side, length), np.float32)
    weights[np.arange(side), low] = 1 - (places - low)
    weights[np.arange(side), np.minimum(low + 1, length - 1)] += places - low
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


@dataclass(frozen=True, eq=False)
class Convolutional:
    """Images through the encoding half of an autoencoder of this kind; the other half may come with it."""

    kind: str
    weights: Row

    def width(self, shape: Sequence[int]) -> int:  # noqa: ARG002  # an image of any size
        return LATENT

    def encode(self, inputs: Inputs) -> Floats:
        import torch

        net = encoder(self.kind)
        if len(self.weights) not in (net.size, autoencoder(self.kind).size):
            raise misfit(self.kind, len(self.weights), f"{net.size} weights")
        module = net.module(self.weights[: net.size])
        images = torch.from_numpy(fitted(inputs, self.kind))
        with torch.inference_mode():
            found: Floats = torch.cat([module(some) for some in torch.split(images, AT_ONCE)]).numpy()
        return found


def fitted(inputs: Inputs, kind: str) -> Floats:
    """(images, channels, side, side): any images as this autoencoder takes them; grey ones have three equal colours."""
    channels, side = FORMS[kind]
    if inputs.ndim < 3:
        raise misfit(kind, inputs.shape[1:], "images (..., height, width)")
    images = inputs.astype(np.float32).reshape(len(inputs), -1, *inputs.shape[-2:])
    if channels == 1 or not coloured(images.shape[1:]):
        images = images.mean(axis=1, keepdims=True, dtype=np.float32)
    small = resized(images.reshape(-1, *images.shape[-2:]), side).reshape(len(images), -1, side, side)
    return np.array(np.broadcast_to(small, (len(images), channels, side, side)), np.float32, order="C")


@dataclass(frozen=True, eq=False)
class Standardised:
    """Tables: each feature less its mean, over its scale; the weights are the means and then the scales."""

    weights: Row

    def width(self, shape: Sequence[int]) -> int:
        return prod(shape)

    def encode(self, inputs: Inputs) -> Floats:
        flat = inputs.reshape(len(inputs), -1)
        if len(self.weights) != 2 * flat.shape[1]:
            raise misfit("standardised", flat.shape[1:], f"{len(self.weights) // 2} features")
        mean, scale = self.weights.reshape(2, -1)
        found: Floats = ((flat - mean) / scale).astype(np.float32)
        return found


@dataclass(frozen=True, eq=False)
class Embedding:
    """Texts: the mean of their words' vectors; 0, the filler, and words that have none count nowhere."""

    weights: Row

    def width(self, shape: Sequence[int]) -> int:  # noqa: ARG002  # a text of any length
        return EMBEDDED

    def encode(self, inputs: Inputs) -> Floats:
        vectors = self.weights.reshape(-1, EMBEDDED)
        if inputs.ndim != 2 or inputs.dtype != np.int64:
            raise misfit("embedding", f"{inputs.dtype} {inputs.shape[1:]}", "texts, as numbers of words")
        known = (inputs > 0) & (inputs < len(vectors))
        sums = (vectors[np.where(known, inputs, 0).astype(np.int64)] * known[:, :, None]).sum(axis=1)
        found: Floats = (sums / np.maximum(known.sum(axis=1), 1)[:, None]).astype(np.float32)
        return found


def misfit(kind: str, got: object, need: str) -> InputError:
    """The error of an encoder that was given something else than it takes."""
    return InputError(f"encoder {kind} cannot be used here", where="sketch", got=str(got), need=need)


ENCODERS: dict[str, Encoder] = {"pixels": Pixels(), "public": Public()}
WEIGHED: dict[str, Callable[[Row], Encoder]] = {
    **{kind: partial(Convolutional, kind) for kind in FORMS},
    "standardised": Standardised,
    "embedding": Embedding,
}
NO_WEIGHTS: Row = np.zeros(0, np.float32)


def encoder_named(name: str, weights: Row = NO_WEIGHTS) -> Encoder:
    """The encoder of this name, with these weights if it is of a kind that has some."""
    if name in WEIGHED:
        return WEIGHED[name](weights)
    if name not in ENCODERS:
        raise unknown("the encoder", "sketch", name, ENCODERS)
    return ENCODERS[name]


def width_of(name: str, shape: Sequence[int]) -> int:
    """How many numbers this encoder makes of an example of this shape."""
    return encoder_named(name).width(shape)
