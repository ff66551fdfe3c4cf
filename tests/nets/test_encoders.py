"""Encoders give numbers of a known width, the same at every client."""

import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate

from fedclade.core import InputError
from fedclade.data import SOURCES
from fedclade.nets.encoders import Public, encoder_named, public_basis, resize_images

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1, 28, 28), (1, 8, 8), (3, 32, 32), (28, 28), (5,), (2, 3, 9, 17), (1, 1, 1)])
@pytest.mark.parametrize("name", ["pixels", "public"])
def test_the_width_is_what_is_encoded(name: str, shape: tuple[int, ...]) -> None:
    encoded = encoder_named(name).encode(RNG.uniform(size=(3, *shape)).astype(np.float32))
    assert encoded.shape == (3, encoder_named(name).width(shape))
    assert encoded.dtype == np.float32


def test_the_basis_is_orthonormal() -> None:
    """Shipped in half precision: 11 bits."""
    mean, components = public_basis()
    assert mean.shape == (784,)
    assert np.abs(components.astype(np.float64) @ components.T - np.eye(32)).max() < 1e-3


@pytest.mark.slow
@pytest.mark.skipif(not SOURCES["fashion-mnist"].is_available(), reason="Fashion-MNIST is not here")
def test_the_basis_is_made_from_fashion_mnist() -> None:
    """Pixels from 0 to 1, the first principal components, the largest entry of each is positive; half precision."""
    images = SOURCES["fashion-mnist"].load().train.inputs
    flat = images.reshape(len(images), -1).astype(np.float64) / 255
    components = np.linalg.eigh(np.cov(flat.T))[1][:, ::-1].T[:32]
    signs = np.sign(components[np.arange(32), np.abs(components).argmax(axis=1)])
    for shipped, made in zip(public_basis(), (flat.mean(axis=0), signs[:, None] * components), strict=True):
        np.testing.assert_allclose(shipped, made, rtol=0, atol=1e-3)


def test_an_image_of_the_basis_has_its_own_place() -> None:
    mean, components = public_basis()
    images = (mean + 3 * components[4] - components[20]).reshape(1, 1, 28, 28)
    expected = np.zeros(32)
    expected[[4, 20]] = 3, -1
    np.testing.assert_allclose(Public().encode(images)[0], expected, rtol=0, atol=3e-3)


@pytest.mark.parametrize("size", [(8, 8), (32, 32), (28, 28), (5, 60), (1, 2)])
def test_images_are_resized_as_torch_does(size: tuple[int, int]) -> None:
    images = RNG.uniform(size=(4, *size)).astype(np.float32)
    theirs = interpolate(torch.from_numpy(images)[:, None], size=(28, 28), mode="bilinear", align_corners=False)
    np.testing.assert_allclose(resize_images(images), theirs.numpy().reshape(4, -1), rtol=0, atol=1e-5)


def test_grey_images_in_three_channels_have_no_colour() -> None:
    grey = RNG.uniform(size=(2, 1, 28, 28)).astype(np.float32)
    encoded = Public().encode(np.repeat(grey, 3, axis=1))
    np.testing.assert_allclose(encoded[:, :32], Public().encode(grey), rtol=0, atol=1e-4)
    np.testing.assert_allclose(encoded[:, 32:], 0, rtol=0, atol=1e-5)


def test_words_are_counted_and_fillers_are_not() -> None:
    texts = np.array([[5, 9, 5, 0], [9, 5, 5, 0], [0, 0, 0, 0], [7, 0, 0, 0]], np.int64)
    bags = Public().encode(texts)
    assert bags.sum(axis=1).tolist() == [3, 3, 0, 1]
    assert bags[0].tolist() == bags[1].tolist()  # the order of words does not matter


def test_an_unknown_encoder_is_refused() -> None:
    with pytest.raises(InputError, match='did you mean "public"'):
        encoder_named("publik")
