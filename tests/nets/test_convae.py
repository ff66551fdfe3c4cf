"""FLT's autoencoder: the size of table 13, any image in, weights that can be sent in part."""

import numpy as np
import pytest
import torch

from fedclade.core import InputError
from fedclade.nets.convae import FORMS, autoencoder, encoder, encoder_start
from fedclade.nets.encoders import encoder_named, prepare_images

RNG = np.random.default_rng(0)


def test_it_has_the_parameters_of_table_13() -> None:
    """By hand: 16 x 9 + 16, 16 x 4 x 9 + 4, 196 x 128 + 128 encode; 128 x 196 + 196, 4 x 16 x 4 + 16, 16 x 4 + 1.

    For colours 3 x 16 x 9 + 16, 580, 256 x 128 + 128; 128 x 256 + 256, 272, 16 x 3 x 4 + 3.
    """
    assert autoencoder("convae").size == 160 + 580 + 25_216 + 25_284 + 272 + 65 == 51_577
    assert encoder("convae").size == 160 + 580 + 25_216
    assert encoder("convae-colour").size == 448 + 580 + 32_896
    assert autoencoder("convae-colour").size == 448 + 580 + 32_896 + 33_024 + 272 + 195


@pytest.mark.parametrize("kind", FORMS)
def test_the_half_that_encodes_stands_together(kind: str) -> None:
    whole = autoencoder(kind).initial_row(3)
    channels, side = FORMS[kind]
    start = encoder_start(kind)
    images = torch.from_numpy(RNG.uniform(size=(4, channels, side, side)).astype(np.float32))
    module = autoencoder(kind).module(whole)
    with torch.inference_mode():
        latent = module.encoder(images)  # type: ignore[operator]  # a module, by its name
        assert module(images).shape == images.shape
    for weights in (whole, whole[start : start + encoder(kind).size]):
        np.testing.assert_allclose(encoder_named(kind, weights).encode(images.numpy()), latent, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("shape", [(1, 28, 28), (8, 8), (3, 32, 32), (3, 9, 17), (1, 1, 1)])
def test_images_of_any_size_fit(kind: str, shape: tuple[int, ...]) -> None:
    images = RNG.uniform(size=(2, *shape)).astype(np.float32)
    encoded = encoder_named(kind, autoencoder(kind).initial_row(0)).encode(images)
    assert encoded.shape == (2, 128)
    assert encoded.dtype == np.float32
    assert np.isfinite(encoded).all()


def test_grey_and_colours_become_each_other() -> None:
    colours = RNG.uniform(size=(2, 3, 28, 28)).astype(np.float32)
    mean = colours.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(prepare_images(colours, "convae"), mean, rtol=0, atol=1e-6)
    grey = RNG.uniform(size=(2, 1, 32, 32)).astype(np.float32)
    assert prepare_images(grey, "convae-colour").tolist() == np.repeat(grey, 3, axis=1).tolist()


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="encoder convae cannot be used here, sketch: got 7, need 25956 weights"):
        encoder_named("convae", np.zeros(7, np.float32)).encode(np.zeros((1, 28, 28), np.float32))
    with pytest.raises(InputError, match="need images"):
        encoder_named("convae", autoencoder("convae").initial_row(0)).encode(np.zeros((2, 5), np.float32))
