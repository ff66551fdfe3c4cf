"""Fine-tuning an encoder: SGD on the squared error, from the common start, a function of seed, round and client."""

import numpy as np
import torch
from torch.nn.functional import mse_loss

from fedclade.client import one_thread, path_name_for
from fedclade.client.encoder_tuning import TUNING, tune_encoder
from fedclade.core import Round
from fedclade.data import Part, Pool
from fedclade.nets.convae import AutoEncoder, autoencoder

NOW = Round(0, 0)
RNG = np.random.default_rng(0)
PART = Part(Pool(RNG.uniform(size=(24, 1, 28, 28)).astype(np.float32), np.zeros(24, np.int64)), np.arange(24))


def test_it_does_what_plain_torch_does() -> None:
    """torch's own SGD on the same batches."""
    net, start = autoencoder("convae"), autoencoder("convae").initial_row(0)
    assert path_name_for(net) == "general"
    module = net.module(start).train()
    assert isinstance(module, AutoEncoder)
    images = torch.from_numpy(PART.inputs.copy())
    steps = torch.optim.SGD(module.parameters(), lr=TUNING.lr, momentum=TUNING.sgd.momentum)
    order = NOW.generator("batches", "a")
    for _ in range(2):
        for chosen in torch.split(torch.from_numpy(order.permutation(24)), TUNING.batch):
            steps.zero_grad()
            mse_loss(module(images[chosen]), images[chosen]).backward()  # type: ignore[no-untyped-call]  # as torch has it
            steps.step()
    with one_thread():
        row, _ = tune_encoder("convae", start, PART, 2, NOW, "a")
    np.testing.assert_allclose(row, net.row(module), rtol=0, atol=1e-5)
    assert np.abs(row - start).max() > 1e-3


def test_the_error_falls_and_who_trains_matters() -> None:
    start = autoencoder("convae").initial_row(0)
    _, first = tune_encoder("convae", start, PART, 1, NOW, "a")
    row, last = tune_encoder("convae", start, PART, 6, NOW, "a")
    assert last < first
    assert tune_encoder("convae", start, PART, 6, NOW, "a")[0].tolist() == row.tolist()
    assert tune_encoder("convae", start, PART, 6, NOW, "b")[0].tolist() != row.tolist()
