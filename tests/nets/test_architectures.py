"""The nets by name have the sizes that the papers print, and read the inputs that they say they read."""

import numpy as np
import pytest
import torch

from fedclade.core import InputError
from fedclade.nets import NETS, net_for

MNIST = (1, 28, 28)


@pytest.mark.parametrize(
    ("name", "classes", "parameters"),
    [
        ("mlp", 10, 159_010),  # 784 * 200 + 200 + 200 * 10 + 10
        ("mlp", 47, 166_447),  # ... + 200 * 47 + 47
        ("mlp", 62, 169_462),  # ... + 200 * 62 + 62
        ("lenet", 10, 61_706),  # 156 + 2,416 + 48,120 + 10,164 + 850
        ("logistic", 10, 7_850),  # 784 * 10 + 10
        ("leaf_cnn", 62, 6_603_710),  # 832 + 51,264 + 3,136 * 2,048 + 2,048 + 2,048 * 62 + 62
        ("leaf_cnn", 47, 6_572_975),
        ("abc_cnn", 10, 12_122),  # 80 + 1,168 + 2,320 + 8,224 + 330
    ],
)
def test_nets_have_so_many_parameters(name: str, classes: int, parameters: int) -> None:
    net = net_for(name, MNIST, classes)
    assert (net.size, net.trained_size) == (parameters, parameters)


@pytest.mark.parametrize("name", [name for name in NETS if name not in ("lstm", "cfl_cnn")])
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 32, 32), MNIST, (1, 6, 9), (2, 13, 14), (1, 14, 40)])
def test_nets_give_a_number_for_each_class(name: str, shape: tuple[int, ...]) -> None:
    net = net_for(name, shape, 7)
    with torch.inference_mode():
        logits = net.module(net.initial_row(0))(torch.rand(5, *shape, generator=torch.Generator().manual_seed(0)))
    assert logits.shape == (5, 7)
    assert bool(torch.isfinite(logits).all())


def test_the_published_net_for_cifar_10() -> None:
    """456 + 2,416 + 400 * 120 + 120 + 10,164 + 850: LeNet without padding, as in FLT's code; with it 83,126."""
    assert net_for("lenet", (3, 32, 32), 10, {"padded": False}).size == 62_006
    assert net_for("lenet", (3, 32, 32), 10).size == 83_126
    with pytest.raises(InputError, match=r"\(channels, height, width\) from 16 x 16"):
        _ = net_for("lenet", (1, 15, 15), 10, {"padded": False}).size


def test_the_net_of_cfl_has_five_layers() -> None:
    """896 + 18,496 + 36,928 + 1,024 * 128 + 128 + 1,290 for CIFAR's images."""
    net = net_for("cfl_cnn", (3, 32, 32), 10)
    assert net.size == 188_810
    assert sum(len(piece.shape) > 1 for piece in net.pieces) == 5


def test_the_lstm_reads_words() -> None:
    """10,002 * 200 + 4 * 256 * (200 + 256 + 2) + 4 * 256 * (256 + 256 + 2) + 256 * 4 + 4 numbers."""
    net = net_for("lstm", (32,), 4)
    assert net.size == 2_000_400 + 468_992 + 526_336 + 1_028
    logits = net.module(net.initial_row(0))(torch.arange(64).reshape(2, 32))
    assert logits.shape == (2, 4)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *(("lenet", shape) for shape in ((64,), (8, 8), (1, 5, 28), (1, 28, 5), (1, 1, 8, 8))),
        *(("cfl_cnn", (1, 7, 8)), ("lstm", MNIST)),
    ],
)
def test_inputs_that_a_net_cannot_read_are_refused(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=f"{name} cannot read these inputs") as caught:
        _ = net_for(name, shape, 10).size
    assert caught.value.got == str(shape)


@pytest.mark.parametrize("name", ["mlp", "logistic"])
def test_flat_inputs_serve_the_others(name: str) -> None:
    net = net_for(name, (13,), 2)
    assert net.module(net.initial_row(0))(torch.zeros(4, 13)).shape == (4, 2)


def test_the_mlp_drops_half_of_its_hidden_units_in_training_only() -> None:
    """FLT's table 11. All weights 1, input 0: 200 units of 1 and the last bias give 201; trained, a unit is 0 or 2."""
    module = net_for("mlp", (1,), 2).module(np.ones(200 + 200 + 400 + 2, np.float32))
    assert module(torch.zeros(1, 1)).tolist() == [[201, 201]]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kept = (module.train()(torch.zeros(1, 1))[0, 0].item() - 1) / 2
    assert kept == int(kept)
    assert 65 < kept < 135  # 100 on average, deviation sqrt(200 / 4) = 7


def test_settings_reach_the_net() -> None:
    assert net_for("mlp", MNIST, 10, {"hidden": 30}).size == 784 * 30 + 30 + 30 * 10 + 10
    with pytest.raises(InputError, match=r"net\.hidden: got 0"):
        net_for("mlp", MNIST, 10, {"hidden": 0})
    with pytest.raises(InputError, match=r'net\.hiden is not known.*did you mean "hidden"'):
        net_for("mlp", MNIST, 10, {"hiden": 30})
    with pytest.raises(InputError, match='did you mean "lenet"'):
        net_for("lenett", MNIST, 10)


def test_he_starts_abcs_net_with_weights_that_keep_their_spread() -> None:
    """He et al. (2015): deviation sqrt(2 / inputs of a unit), biases 0. The second layer: 72 inputs, 1,152 weights."""
    net = net_for("abc_cnn", MNIST, 10)
    second = net.initial_row(0)[80 : 80 + 1168]
    assert second[1152:].tolist() == [0] * 16
    assert second[:1152].std() == pytest.approx((2 / 72) ** 0.5, rel=4 / (2 * 1152) ** 0.5)  # four standard errors
    assert np.array_equal(net.initial_row(0), net.initial_row(0))
    assert not np.array_equal(net.initial_row(0), net.initial_row(1))


def test_a_users_own_function_is_a_net() -> None:
    def tiny() -> torch.nn.Module:
        return torch.nn.Linear(4, 2)

    net = net_for(tiny, (4,), 2)
    assert (net.name, net.size) == ("tiny", 10)
