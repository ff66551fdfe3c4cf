"""The paper's attention in numpy: against torch's own layers, and the invariants of section 4.2."""

import numpy as np
import pytest
import torch

from fedclade.core import InputError, Row
from fedclade.methods.abc.attention import HEADS, HIDDEN, inputs_of, project, scores, size, weights
from fedclade.nets import attention_files
from fedclade.nets.net import Net
from fedclade_papers.attention_training import network as trained

INPUTS = 40


@pytest.fixture(scope="module")
def network() -> trained.AttentionNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = trained.AttentionNetwork(INPUTS, clients=6)
        with torch.no_grad():
            for layer in (*made.encoder, made.query, made.key):
                layer.weight.mul_(4)  # fresh weights attend to everybody alike
    return made


@pytest.fixture(scope="module")
def row(network: trained.AttentionNetwork) -> Row:
    return trained.row_of(network)


def drifts(clients: int = 6, numbers: int = INPUTS, seed: int = 0) -> Row:
    return np.random.default_rng(seed).normal(size=(clients, numbers)).astype(np.float32)


def test_it_is_what_torchs_own_attention_gives(network: trained.AttentionNetwork, row: Row) -> None:
    """torch.nn.MultiheadAttention with the same queries and keys, after the same layers, on scaled drifts."""
    assert (HIDDEN, HEADS) == (attention_files.HIDDEN, attention_files.HEADS)
    some = drifts()
    scaled = given = torch.from_numpy(some) / (torch.from_numpy(some) ** 2).sum(1).mean().sqrt()
    plain = torch.nn.MultiheadAttention(32, 4, batch_first=True)
    with torch.no_grad():
        plain.in_proj_weight.copy_(torch.cat([network.query.weight, network.key.weight, torch.eye(32)]))
        assert plain.in_proj_bias is not None
        plain.in_proj_bias.copy_(torch.cat([network.query.bias, network.key.bias, torch.zeros(32)]))
        for layer in network.encoder:
            given = torch.relu(layer(given))
        expected = plain(given[None], given[None], given[None])[1][0].numpy()
        ours = network.weights(scaled).numpy()
    np.testing.assert_allclose(weights(row, some), expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5)
    assert weights(row, some).std() > 1e-3  # not alike for all


def test_rows_sum_to_one_and_scores_are_one_on_average(row: Row) -> None:
    for clients in (2, 6, 50):  # weights do not depend on the head: any N
        some = drifts(clients)
        np.testing.assert_allclose(weights(row, some).sum(axis=1), 1, rtol=0, atol=1e-12)
        assert scores(row, some).mean() == pytest.approx(1, abs=1e-8)
        np.testing.assert_allclose(scores(row, some), weights(row, some).sum(axis=0), rtol=0, atol=1e-9)


def test_neither_order_nor_scale_matters_and_equal_drifts_have_equal_scores(row: Row) -> None:
    some, order = drifts(9), np.random.default_rng(1).permutation(9)
    assert scores(row, some[order]).tolist() == scores(row, some)[order].tolist()
    assert len(set(scores(row, some).tolist())) == 9
    np.testing.assert_allclose(scores(row, 4 * some), scores(row, some), rtol=0, atol=1e-8)
    some[[3, 8]] = some[1]
    found = scores(row, some)
    assert found[1] == found[3] == found[8]
    assert scores(row, np.repeat(some[:1], 7, axis=0)).tolist() == [1] * 7
    assert scores(row, np.zeros((3, INPUTS), np.float32)).tolist() == [1] * 3  # nobody moved


def test_long_drifts_are_projected_and_keep_their_angles(row: Row) -> None:
    """Kane and Nelson: squared lengths and products are kept within a few times sqrt(2 / width)."""
    some = drifts(5, 150_000, seed=2).astype(np.float64)
    some[1] += some[0]
    short = project(some, 2000)
    assert short.shape == (5, 2000)
    products, kept = some @ some.T / 150_000, short @ short.T / 150_000
    np.testing.assert_allclose(kept, products, rtol=0, atol=2 * 5 * (2 / 2000) ** 0.5)
    assert np.array_equal(short, project(some, 2000))
    assert scores(row, some.astype(np.float32)).mean() == pytest.approx(1, abs=1e-8)  # this one reads 40 numbers


def test_the_projection_is_four_signs_a_number() -> None:
    """Of a unit vector: four entries of one half, unless two meet."""
    short = project(np.eye(3, 70_000, k=69_000), 5000)
    assert np.abs(short).sum(axis=1).tolist() == [2, 2, 2]
    assert (short**2).sum(axis=1).tolist() == [1, 1, 1]


def test_the_size_of_a_row_tells_what_it_reads(row: Row) -> None:
    """By hand: 40 x 512 + 512, 512 x 128 + 128, 128 x 32 + 32, and twice 32 x 32 + 32."""
    assert len(row) == size(INPUTS) == 20_992 + 65_664 + 4_128 + 2 * 1_056
    assert inputs_of(row) == INPUTS
    with pytest.raises(InputError, match="not the weights of an attention network"):
        scores(row[:-1], drifts())
    with pytest.raises(InputError, match="got drifts of 39 numbers, need 40 or more"):
        scores(row, drifts(numbers=39))


def test_the_heads_differ_in_what_the_decoder_sees() -> None:
    """Pooled: no order, any N. Flattened: the order is in the output, as the paper has it."""
    order = np.random.default_rng(0).permutation(6)
    some = torch.from_numpy(drifts())
    for clients, same in ((0, True), (6, False)):
        net = Net("attention", lambda clients=clients: trained.AttentionNetwork(INPUTS, clients), is_custom=False)  # type: ignore[misc]
        with torch.inference_mode():
            module = net.module(net.initial_row(3))
            one, other = module(some), module(some[order])
        assert bool(torch.allclose(one, other, rtol=0, atol=1e-6)) is same
    with torch.inference_mode():
        assert trained.AttentionNetwork(INPUTS, 0)(some[:3]).shape == (INPUTS,)
