"""ABC's network is fitted: it learns what can be learnt, keeps the best epoch, and is the same every time."""

import numpy as np
import pytest
import torch

from fedclade.core import InputError, Row
from fedclade_papers.attention_training.network import PATIENCE, AttentionNetwork, DecoderHead, fit_network

RNG = np.random.default_rng(0)
PATTERNS = RNG.normal(size=(2, 12)).astype(np.float32)
SHARES = RNG.uniform(-1, 1, size=(60, 2)).astype(np.float32)
AIMS = SHARES @ PATTERNS  # what two kinds of clients do, in shares that differ by round
DRIFTS = np.repeat(2 * SHARES[:, :, None] * PATTERNS, 2, axis=1)  # (60, 4, 12): the mean of clients is the aim


def test_the_layers_are_the_papers() -> None:
    """Encoder D-512-128-32, four linear maps of the attention, decoder 32N-256-512-D: by hand for D = 12, N = 4."""
    encoder = 12 * 512 + 512 + 512 * 128 + 128 + 128 * 32 + 32
    attention = 4 * (32 * 32 + 32)
    for clients, read in ((4, 128), (0, 32)):
        decoder = read * 256 + 256 + 256 * 512 + 512 + 512 * 12 + 12
        found = sum(tensor.numel() for tensor in AttentionNetwork(12, clients).parameters())
        assert found == encoder + attention + decoder


def test_the_output_is_that_of_torchs_own_attention() -> None:
    """The mixing of values and their joining too, not only the weights."""
    torch_module = torch.nn.MultiheadAttention(32, 4, batch_first=True)
    network, some = AttentionNetwork(12, 4), torch.from_numpy(DRIFTS[:3])
    names = (network.query, network.key, network.value)
    with torch.no_grad():
        torch_module.in_proj_weight.copy_(torch.cat([layer.weight for layer in names]))
        assert torch_module.in_proj_bias is not None
        torch_module.in_proj_bias.copy_(torch.cat([layer.bias for layer in names]))
        torch_module.out_proj.weight.copy_(network.joined.weight)
        torch_module.out_proj.bias.copy_(network.joined.bias)
        encoded = some
        for layer in network.encoder:
            encoded = torch.relu(layer(encoded))
        mixed = torch_module(encoded, encoded, encoded)[0].flatten(1)
        for layer in network.decoder[:-1]:
            mixed = torch.relu(layer(mixed))
        expected = network.decoder[-1](mixed)
        assert torch.allclose(network(some), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("head", ["flatten", "pooled"])
def test_it_learns_what_can_be_learnt(head: DecoderHead) -> None:
    errors: list[float] = []
    row, error = fit_network(DRIFTS, AIMS, head=head, epochs=12, seed=1, progress=lambda _, error: errors.append(error))
    assert error == min(errors) < 0.5  # of predicting zero
    assert row.dtype == np.float32
    again = fit_network(DRIFTS, AIMS, head=head, epochs=12, seed=1)
    assert np.array_equal(row, again[0])
    assert error == again[1]


def test_it_stops_when_nothing_gets_better() -> None:
    """Noise cannot be predicted: ten epochs without a better one end it, and the best before them is kept."""
    errors: list[float] = []
    noise = RNG.normal(size=AIMS.shape).astype(np.float32)

    def fit(epochs: int, errors: list[float]) -> tuple[Row, float]:
        return fit_network(
            DRIFTS, noise, head="pooled", epochs=epochs, seed=0, progress=lambda _, error: errors.append(error)
        )

    row, error = fit(100, errors)
    best = int(np.argmin(errors))
    assert len(errors) == best + 1 + PATIENCE < 100
    short: list[float] = []
    assert np.array_equal(fit(best + 1, short)[0], row)
    assert short == errors[: best + 1]
    assert error == errors[best]


def test_too_little_is_an_error() -> None:
    with pytest.raises(InputError, match="got 1 rounds of 4 clients"):
        fit_network(DRIFTS[:1], AIMS[:1], head="pooled", epochs=1, seed=0)
