"""The residual autoencoder of FLT's authors: its size, what it learns, its file, and FLT by it."""

from pathlib import Path

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.core import InputError
from fedclade.nets.convae import autoencoder, encoder, encoder_start
from fedclade.nets.encoders import encoder_named
from fedclade.nets.pretraining import pretrain_encoder
from fedclade.nets.weight_files import WeightFile, open_encoder, read, write

RNG = np.random.default_rng(0)
# By hand, from the published sizes: channels 64 and 128, blocks of 32, 8 maps of 8 x 8, 128 latent numbers.
BLOCKS = 2 * (128 * 32 * 9 + 32 * 128)
NORMED = 64 + 128 + 128 + 64 + 8  # channels that have a norm, with a factor and a shift for each
ENCODER = (
    (3 * 64 * 16 + 64)
    + (64 * 128 * 16 + 128)
    + (128 * 128 * 9 + 128)
    + BLOCKS
    + (128 * 64 + 64)
    + (64 * 8 + 8)
    + (512 * 128 + 128)
    + 2 * NORMED
)
DECODER = (
    (128 * 512 + 512)
    + (8 * 64 + 64)
    + (64 * 128 + 128)
    + BLOCKS
    + (128 * 128 * 9 + 128)
    + (128 * 64 * 16 + 64)
    + (64 * 3 * 16 + 3)
)


def noisy_stripes(count: int) -> np.ndarray:
    """Colour images (images, 3, 32, 32) with something to learn: bars of a random colour, and a little noise."""
    bars = np.zeros((count, 3, 32, 32), np.float32)
    for image, place in zip(bars, RNG.integers(0, 24, count), strict=True):
        image[:, place : place + 8] = RNG.uniform(0.3, 0.9, (3, 1, 1))
    return np.clip(bars + RNG.normal(0, 0.02, bars.shape), 0, 1).astype(np.float32)


def test_it_has_the_published_parameters() -> None:
    """877,723, and two running statistics for each channel that has a norm."""
    whole = autoencoder("resae")
    assert whole.trained_size == ENCODER + DECODER == 877_723
    assert whole.size == ENCODER + DECODER + 2 * NORMED
    assert encoder("resae").size == ENCODER + 2 * NORMED
    assert encoder_start("resae") == DECODER


def test_its_encoder_stands_alone_with_the_statistics_of_its_norms() -> None:
    """After some images have moved the statistics: the part of the row that is sent encodes as the whole does."""
    net = autoencoder("resae")
    module = net.module(net.initial_row(1)).train()
    images = torch.from_numpy(noisy_stripes(6))
    with torch.no_grad():
        module(images)
        whole = net.row(module)
        latent = module.eval().encoder(images)  # type: ignore[operator]  # a module, by its name
    assert not np.array_equal(whole[-NORMED:], net.initial_row(1)[-NORMED:])
    for weights in (whole, whole[encoder_start("resae") :]):
        np.testing.assert_allclose(encoder_named("resae", weights).encode(images.numpy()), latent, rtol=0, atol=1e-5)


def test_it_learns_to_restore_and_its_file_can_be_read_back(tmp_path: Path) -> None:
    errors: list[float] = []
    made = pretrain_encoder(
        noisy_stripes(30), source="bars", epochs=8, seed=0, progress=lambda _, error: errors.append(error), kind="resae"
    )
    assert made.kind == "resae"
    assert made.recipe["held_out_mse"] == min(errors) < 0.7 * errors[0]
    write(tmp_path / "own.safetensors", made)
    again = read(tmp_path / "own.safetensors")
    assert (again.kind, again.recipe) == (made.kind, made.recipe)
    assert np.array_equal(again.weights, made.weights)
    found = open_encoder(str(tmp_path / "own.safetensors"), (3, 32, 32))
    assert (found.width, found.encoder_size) == (128, ENCODER + 2 * NORMED)
    assert np.array_equal(found.weights[found.encoder_weights], made.weights[DECODER:])


@pytest.mark.parametrize(("own", "joint"), [(0, 0), (1, 0), (0, 1)])
def test_flt_finds_groups_with_it(own: int, joint: int, tmp_path: Path) -> None:
    """The one-shot step: what comes back is what the encoder makes of each client's own images."""
    file = tmp_path / "own.safetensors"
    write(file, WeightFile("resae", autoencoder("resae").initial_row(0), {"source": "nothing"}))
    federation = fc.data.build(source="digits", world="classes", clients=4, groups=2, fewer={"examples": 12})
    by = fc.Encoder(name=str(file), points=1, own_tuning_epochs=own, joint_tuning_rounds=joint)
    found = fc.find_groups(federation, fc.FLT(signature=by))
    assert found.sketches is not None
    assert found.sketches.places.shape == (4, 1, 128)
    if not own + joint:
        encode = encoder_named("resae", autoencoder("resae").initial_row(0)).encode
        for client, (place,) in zip(found.sketches.clients, found.sketches.places, strict=True):
            mean = encode(federation.data[client].train.inputs).mean(axis=0)
            np.testing.assert_allclose(place, mean, rtol=0, atol=1e-5)


def test_a_kind_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="the kind of autoencoder is not known"):
        pretrain_encoder(noisy_stripes(2), source="", epochs=1, seed=0, progress=lambda *_: None, kind="resea")
    with pytest.raises(InputError, match="resae is for images, pretraining: got examples of shape"):
        pretrain_encoder(np.ones((4, 3)), source="", epochs=1, seed=0, progress=lambda *_: None, kind="resae")  # type: ignore[arg-type]  # float64
