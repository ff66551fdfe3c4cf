"""Any module becomes one float32 row and comes back from it; torch's own randomness is left alone."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedclade.core import InputError
from fedclade.nets import Net, net_for


class Tied(nn.Module):
    """Encoder and decoder share one matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Linear(3, 3)
        self.decode = nn.Linear(3, 3)
        self.decode.weight = self.encode.weight

    def forward(self, inputs: Tensor) -> Tensor:
        decoded: Tensor = self.decode(torch.relu(self.encode(inputs)))
        return decoded


def frozen_first() -> nn.Module:
    """The first layer stands first in the module, and is not trained."""
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    module[0].requires_grad_(False)
    return module


def batch_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))


def convolution() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2, 4))


# A net, the numbers in its row, and the trained ones among them, counted by hand.
KINDS = {
    "linear": (Net("linear", lambda: nn.Linear(2, 3)), 2 * 3 + 3, 9),
    "convolution": (Net("convolution", convolution), 2 * 9 + 2 + 2 * 4 + 4, 32),
    "batch norm": (Net("batch norm", batch_norm), 9 + (3 + 3) + 8 + (3 + 3), 23),  # the statistics are not trained
    "tied": (Net("tied", Tied), 9 + 3 + 3, 15),  # the shared matrix counts once
    "frozen": (Net("frozen", frozen_first), 6 + 3, 3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_goes_into_a_module_and_comes_back(kind: str) -> None:
    net, size, trained = KINDS[kind]
    assert (net.size, net.trained_size) == (size, trained)
    row = np.random.default_rng(0).normal(size=size).astype(np.float32)
    module = net.module(row)
    assert not module.training, "ready to predict"
    back = net.row(module)
    assert back.dtype == np.float32
    assert back.tolist() == row.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_module_survives_as_a_row(kind: str) -> None:
    """Every floating tensor of the copy is that of the original, by torch's own state dict."""
    net, _, _ = KINDS[kind]
    module = net.initial_module(5)
    with torch.no_grad():
        for tensor in module.state_dict().values():
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=torch.Generator().manual_seed(1)))
    copied = net.module(net.row(module)).state_dict()
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, copied[name]), name


def test_trained_parameters_stand_first_in_the_modules_order() -> None:
    net = Net("frozen", frozen_first)
    assert [str(piece) for piece in net.pieces] == ["1.weight 1x2", "1.bias 1", "0.weight 2x2", "0.bias 2"]
    assert [piece.is_trained for piece in net.pieces] == [True, True, False, False]
    state = net.module(np.arange(9, dtype=np.float32)).state_dict()
    found = [state[name].tolist() for name in ("1.weight", "1.bias", "0.weight")]
    assert found == [[[0, 1]], [2], [[3, 4], [5, 6]]]


def test_running_statistics_stand_last_and_whole_numbers_nowhere() -> None:
    names = [piece.name for piece in Net("batch norm", batch_norm).pieces]
    assert names[-2:] == ["1.running_mean", "1.running_var"]
    assert "1.num_batches_tracked" not in names


def test_tied_weights_stay_tied() -> None:
    module = Net("tied", Tied).module(np.arange(15, dtype=np.float32))
    assert module.get_parameter("encode.weight") is module.get_parameter("decode.weight")


def test_a_row_is_the_callers_own() -> None:
    """Writing to it changes no module, and the module made from it does not change with it."""
    net = Net("one tensor", lambda: nn.Linear(2, 1, bias=False))
    row = np.array([1, 2], np.float32)
    module = net.module(row)
    net.row(module)[:] = 9
    row[:] = 9
    assert net.row(module).tolist() == [1, 2]


SHARED = nn.Linear(2, 2)


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Linear(2, 2).double(), r"not float32, weight: got torch\.float64"),
        (nn.ReLU, "nothing to train"),
        (lambda: nn.Linear(2, 2).requires_grad_(False), "nothing to train"),
        (lambda: "mlp", "does not make a module: got str"),
        (lambda: SHARED, "gives the same module again"),
        (lambda: nn.LazyLinear(3), "has no shape yet"),
    ],
)
def test_what_cannot_be_a_row_is_refused(make: Callable[[], nn.Module], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = Net("net", make).size
    with pytest.raises(InputError, match=message):
        Net("net", make).initial_row(0)


@pytest.mark.parametrize("size", [8, 10])
def test_a_row_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(InputError, match=rf"does not fit net linear: got \({size},\), need \(9,\)"):
        Net("linear", lambda: nn.Linear(2, 3)).module(np.zeros(size, np.float32))


def test_first_rows_follow_seed_and_number() -> None:
    net = KINDS["convolution"][0]
    assert net.initial_row(3).tolist() == net.initial_row(3, 0).tolist()
    assert len({tuple(net.initial_row(seed, number)) for seed in (3, 4) for number in (0, 1)}) == 4


def test_torchs_own_randomness_is_left_alone_and_does_not_matter() -> None:
    net = KINDS["batch norm"][0]
    expected = net.initial_row(0).tolist()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(12)
        before = torch.get_rng_state()
        assert net.row(net.module(net.initial_row(0))).tolist() == expected
        assert Net("batch norm", batch_norm).size == 29
        assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("not_a_function", [nn.Linear(2, 2), 3, None])
def test_an_own_net_is_a_function(not_a_function: object) -> None:
    with pytest.raises(InputError, match="the net is not usable"):
        net_for(not_a_function, (2,), 2)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(InputError, match="settings for an own function"):
        net_for(lambda: nn.Linear(2, 2), (2,), 2, {"hidden": 3})


def test_layers_are_modules_with_their_weights_and_biases() -> None:
    """784 inputs, 200 units, 10 classes; a frozen layer, and what BatchNorm only counts, are no layers to train."""
    assert net_for("mlp", (1, 28, 28), 10).layers == (784 * 200 + 200, 200 * 10 + 10)
    mixed = Net("mixed", lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2, bias=False)))
    assert (mixed.layers, mixed.size) == ((16, 8, 8), 16 + 8 + 8 + 8)
