import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from fedclade.bench.nets import training_flops
from fedclade.bench.workloads import WORKLOADS, power_law_sizes
from fedclade.data import SOURCES


def test_they_are_the_papers_sizes() -> None:
    steps = {
        name: work.local.epochs * sum(-(-size // work.local.batch) for size in work.sizes())
        for name, work in WORKLOADS.items()
    }
    # 20 x 60; 4 x 23 x 2 epochs; 4 x 50; 4 x 10
    assert {name: steps[name] for name in ("W1", "W3", "W4", "W5")} == {"W1": 1200, "W3": 184, "W4": 200, "W5": 40}
    # Digits of McMahan's perceptron: 784 x 200 + 200 and 200 x 10 + 10 numbers. LEAF's CNN: 832 + 51,264 +
    # (3,136 x 2,048 + 2,048) + (2,048 x 62 + 62).
    assert WORKLOADS["W1"].build_net().size == 159_010
    assert WORKLOADS["W3"].build_net().size == 6_603_710


def test_ragged_clients_follow_the_power_law() -> None:
    sizes = power_law_sizes(480)
    assert len(sizes) == 480
    assert min(sizes) == 20
    assert 190 <= max(sizes) <= 200
    assert 43 < sum(sizes) / 480 < 45
    assert sizes != tuple(sorted(sizes))


@pytest.mark.parametrize("name", ["W1", "W2", "W3", "W4"])
def test_arithmetic_agrees_with_torchs_counter(name: str) -> None:
    work = WORKLOADS[name]
    net = work.build_net()
    module = net.initial_module(0)
    inputs = torch.rand(3, *work.shape)
    with FlopCounterMode(display=False) as counter:
        cross_entropy(module(inputs), torch.zeros(3, dtype=torch.int64)).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    assert 3 * training_flops(net, inputs[0].numpy()) == counter.get_total_flops()


def test_arithmetic_of_the_word_model() -> None:
    # An LSTM layer has 4 x 256 gates that read 200 + 256 numbers (first) or 256 + 256 (second), at ten positions; the
    # output reads 256 numbers for 10,000 words once. Two operations each; backward costs twice as much as forward.
    by_hand = 3 * 2 * (10 * 4 * 256 * (200 + 256 + 256 + 256) + 256 * 10_000)
    work = WORKLOADS["W5"]
    assert training_flops(work.build_net(), np.zeros(10, np.int64)) == by_hand


def test_examples_are_random_or_real() -> None:
    work = WORKLOADS["W1"].shorten()
    some, again = work.federation(), work.federation()
    assert some.fingerprint == again.fingerprint
    assert len(some) == 20
    pixels = some["client-00"].train.inputs
    assert (pixels == 0).mean() < 0.01  # dense: nothing to skip, unlike in pictures of digits
    if (source := work.real_source()) is not None:
        real = work.federation(source)
        assert [len(real[client].train) for client in real] == [600] * 20
        assert real["client-00"].train.pool.inputs.shape == SOURCES[source].load().train.inputs.shape
