"""Encoders: they turn an example into a few numbers that clients can compare. They are the same at every client.

Every client has these:

pixels   the example as it is, flattened
public   images in a public basis, the 32 first principal components of Fashion-MNIST; colours in 24 more numbers.
         Tables as they are: bring standardised features. Texts as a bag of words, in as many bins as a text has words

These have weights, which the server sends (`weight_files` reads them from files):

convae, convae-colour, resae   images through the encoding half of an autoencoder
standardised                   tables, less a mean and over a scale
embedding                      texts as the mean of their words' vectors
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.resources import files
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError, Row
from fedclade.core.settings import unknown_name_error
from fedclade.nets.convae import FORMS, LATENT, autoencoder, encoder, encoder_start

SIDE = 28  # pixels of an image in the basis
COMPONENTS, COLOURS = 32, 12  # of the light, and of each of two differences of colours
IMAGE_BATCH = 1000  # images that go through an autoencoder together
EMBEDDING_WIDTH = 32  # numbers of a word
BASIS = "fashion-mnist-pca32.safetensors"

EncoderFloats = NDArray[np.float32]
Inputs = NDArray[np.float32] | NDArray[np.int64]


class ExampleEncoder(Protocol):
    """From examples (examples, *shape) to numbers (examples, width of the shape)."""

    def width(self, shape: Sequence[int]) -> int: ...

    def encode(self, inputs: Inputs) -> EncoderFloats: ...


class Pixels:
    """The example as it is, flattened."""

    def width(self, shape: Sequence[int]) -> int:
        return prod(shape)

    def encode(self, inputs: Inputs) -> EncoderFloats:
        return inputs.reshape(len(inputs), -1).astype(np.float32)


class Public:
    """Images in a public basis, tables as they are, texts as a bag of words."""

    def width(self, shape: Sequence[int]) -> int:
        if len(shape) < 2:
            return prod(shape)
        return COMPONENTS + 2 * COLOURS if has_colour(shape) else COMPONENTS

    def encode(self, inputs: Inputs) -> EncoderFloats:
        if inputs.ndim > 2:
            return project_on_public_basis(inputs.astype(np.float32))
        if inputs.dtype == np.int64:
            return bag_of_words(inputs.astype(np.int64, copy=False))
        return inputs.astype(np.float32)


def has_colour(shape: Sequence[int]) -> bool:
    """Whether images of this shape have red, green and blue."""
    return len(shape) == 3 and shape[0] == 3


def project_on_public_basis(images: EncoderFloats) -> EncoderFloats:
    """(images, 32 or 56): the light, and for colours red - green and blue - yellow, in the first components."""
    middle, components = public_basis()
    if not has_colour(images.shape[1:]):
        light = images.reshape(len(images), -1, *images.shape[-2:]).mean(axis=1, dtype=np.float32)
        return project_on(resize_images(light) - middle, components)
    red, green, blue = images.transpose(1, 0, 2, 3)
    parts = [project_on(resize_images(images.mean(axis=1, dtype=np.float32)) - middle, components)]
    parts += [project_on(resize_images(each), components[:COLOURS]) for each in (red - green, blue - (red + green) / 2)]
    return np.concatenate(parts, axis=1)


def project_on(flat: EncoderFloats, components: EncoderFloats) -> EncoderFloats:
    """Each image's place in these components."""
    found: EncoderFloats = (flat @ components.T).astype(np.float32)
    return found


def resize_images(images: EncoderFloats, side: int = SIDE) -> EncoderFloats:
    """(images, side²): each (height, width) resampled by bilinear interpolation, then flattened."""
    _, height, width = images.shape
    if (height, width) != (side, side):
        rows, columns = interpolation_weights(height, side), interpolation_weights(width, side)
        images = np.einsum("ih,nhw,jw->nij", rows, images, columns, optimize=True)
    return images.reshape(len(images), side * side)


@lru_cache(maxsize=8)
def interpolation_weights(length: int, side: int) -> EncoderFloats:
    """(side, length): what each pixel of the new line takes from the old ones; pixel centres keep their places."""
    places = np.clip((np.arange(side) + 0.5) * length / side - 0.5, 0, length - 1)
    low = np.minimum(places.astype(np.int64), max(length - 2, 0))
    weights = np.zeros((side, length), np.float32)
    weights[np.arange(side), low] = 1 - (places - low)
    weights[np.arange(side), np.minimum(low + 1, length - 1)] += places - low
    return weights


@lru_cache(maxsize=1)
def public_basis() -> tuple[EncoderFloats, EncoderFloats]:
    """The mean image (784,) and the principal components (32, 784) of Fashion-MNIST, as they are shipped.

    `tests/nets/test_encoders.py` makes them again from the public data.
    """
    from safetensors.numpy import load

    found = load((files("fedclade.nets") / "shipped" / BASIS).read_bytes())
    return found["mean"].astype(np.float32), found["components"].astype(np.float32)


def bag_of_words(texts: NDArray[np.int64]) -> EncoderFloats:
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

    def encode(self, inputs: Inputs) -> EncoderFloats:
        import torch

        net = encoder(self.kind)
        if len(self.weights) not in (net.size, autoencoder(self.kind).size):
            raise misfit_error(self.kind, len(self.weights), f"{net.size} weights")
        start = encoder_start(self.kind) if len(self.weights) > net.size else 0
        module = net.module(self.weights[start : start + net.size])
        images = torch.from_numpy(prepare_images(inputs, self.kind))
        with torch.inference_mode():
            found: EncoderFloats = torch.cat([module(some) for some in torch.split(images, IMAGE_BATCH)]).numpy()
        return found


def prepare_images(inputs: Inputs, kind: str) -> EncoderFloats:
    """(images, channels, side, side): any images as this autoencoder takes them; grey ones have three equal colours."""
    channels, side = FORMS[kind]
    if inputs.ndim < 3:
        raise misfit_error(kind, inputs.shape[1:], "images (..., height, width)")
    images = inputs.astype(np.float32).reshape(len(inputs), -1, *inputs.shape[-2:])
    if channels == 1 or not has_colour(images.shape[1:]):
        images = images.mean(axis=1, keepdims=True, dtype=np.float32)
    small = resize_images(images.reshape(-1, *images.shape[-2:]), side).reshape(len(images), -1, side, side)
    return np.array(np.broadcast_to(small, (len(images), channels, side, side)), np.float32, order="C")


@dataclass(frozen=True, eq=False)
class Standardised:
    """Tables: each feature less its mean, over its scale; the weights are the means and then the scales."""

    weights: Row

    def width(self, shape: Sequence[int]) -> int:
        return prod(shape)

    def encode(self, inputs: Inputs) -> EncoderFloats:
        flat = inputs.reshape(len(inputs), -1)
        if len(self.weights) != 2 * flat.shape[1]:
            raise misfit_error("standardised", flat.shape[1:], f"{len(self.weights) // 2} features")
        mean, scale = self.weights.reshape(2, -1)
        found: EncoderFloats = ((flat - mean) / scale).astype(np.float32)
        return found


@dataclass(frozen=True, eq=False)
class Embedding:
    """Texts: the mean of their words' vectors; 0, the filler, and words that have none count nowhere."""

    weights: Row

    def width(self, shape: Sequence[int]) -> int:  # noqa: ARG002  # a text of any length
        return EMBEDDING_WIDTH

    def encode(self, inputs: Inputs) -> EncoderFloats:
        vectors = self.weights.reshape(-1, EMBEDDING_WIDTH)
        if inputs.ndim != 2 or inputs.dtype != np.int64:
            raise misfit_error("embedding", f"{inputs.dtype} {inputs.shape[1:]}", "texts, as numbers of words")
        known = (inputs > 0) & (inputs < len(vectors))
        sums = (vectors[np.where(known, inputs, 0).astype(np.int64)] * known[:, :, None]).sum(axis=1)
        found: EncoderFloats = (sums / np.maximum(known.sum(axis=1), 1)[:, None]).astype(np.float32)
        return found


def misfit_error(kind: str, got: object, need: str) -> InputError:
    return InputError(f"encoder {kind} cannot be used here", where="sketch", got=str(got), need=need)


ENCODERS: dict[str, ExampleEncoder] = {"pixels": Pixels(), "public": Public()}
WEIGHTED_ENCODERS: dict[str, Callable[[Row], ExampleEncoder]] = {
    **{kind: partial(Convolutional, kind) for kind in FORMS},
    "standardised": Standardised,
    "embedding": Embedding,
}
NO_WEIGHTS: Row = np.zeros(0, np.float32)


def encoder_named(name: str, weights: Row = NO_WEIGHTS) -> ExampleEncoder:
    """The encoder of this name, with these weights if it is of a kind that has some."""
    if name in WEIGHTED_ENCODERS:
        return WEIGHTED_ENCODERS[name](weights)
    if name not in ENCODERS:
        raise unknown_name_error("the encoder", "sketch", name, ENCODERS)
    return ENCODERS[name]
