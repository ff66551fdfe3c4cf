"""One bench serves many models, and none of them leaves a trace in the next."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedclade.data import Part, Pool
from fedclade.local.train import train
from fedclade.local.workbench import Workbench
from fedclade.nets import Net
from fedclade.nouns import LocalTraining, Round

INPUTS = np.random.default_rng(7).normal(size=(23, 5)).astype(np.float32)
PART = Part(Pool(INPUTS, np.arange(23) % 3), np.arange(23))


def dropping() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.Linear(8, 3))


def normalising() -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 3))


def averaging() -> nn.Module:
    """Momentum None: plain averages over all batches, counted in a whole-number buffer."""
    return nn.Sequential(nn.BatchNorm1d(5, momentum=None), nn.Linear(5, 3))


class Centred(nn.Module):
    """Keeps a running mean by putting a new tensor in the place of the buffer, as modules may."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(5))

    def forward(self, inputs: Tensor) -> Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * inputs.mean(dim=0)
        logits: Tensor = self.layer(inputs - self.mean)
        return logits


@pytest.mark.parametrize("make", [dropping, normalising, averaging, Centred])
def test_what_was_on_the_bench_before_does_not_matter(make: Callable[[], nn.Module]) -> None:
    """One seed, one answer: else a result depends on which clients shared a worker."""
    net, now = Net("net", make), Round(1, 0, local=LocalTraining(momentum=0.9, batch=8))
    bench, start = Workbench(net), net.first(0)
    row, loss = train(bench, start, PART, now, "a")
    train(bench, net.first(1), PART, replace(now, number=5), "b")
    again, again_loss = train(bench, start, PART, now, "a")
    assert again.tolist() == row.tolist()
    assert again_loss == loss


@pytest.mark.parametrize("make", [dropping, normalising, Centred])
def test_a_model_is_loaded_and_unloaded_as_it_is(make: Callable[[], nn.Module]) -> None:
    net = Net("net", make)
    row = np.random.default_rng(1).normal(size=net.size).astype(np.float32)
    bench = Workbench(net)
    bench.load(row)
    unloaded = bench.unload()
    assert unloaded.tolist() == row.tolist()
    bench.load(net.first(0))
    assert unloaded.tolist() == row.tolist(), "a row of its own"


def test_the_weights_on_the_bench_are_the_modules() -> None:
    """A change of the flat vector is a change of the layers, and the gradient arrives in one vector."""
    net = Net("line", lambda: nn.Linear(2, 1))
    bench = Workbench(net)
    bench.load(np.array([1, 2, 3], np.float32))
    output = bench.module(torch.tensor([[10.0, 100.0]]))
    assert output.item() == 1 * 10 + 2 * 100 + 3
    output.sum().backward()
    assert bench.gradient.tolist() == [10, 100, 1]
    bench.weights.mul_(2)
    assert bench.module(torch.tensor([[10.0, 100.0]])).item() == 2 * 213


@pytest.mark.parametrize(
    "size",
    [
        1,
        2,
        4,
    ],
)
def test_a_row_of_another_size_does_not_load(size: int) -> None:
    with pytest.raises((ValueError, RuntimeError)):
        Workbench(Net("line", lambda: nn.Linear(2, 1))).load(np.zeros(size, np.float32))
