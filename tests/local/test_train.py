"""One client's training is torch's own SGD over batches that (seed, round, client) decides."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector

from fedclade.data import Part, Pool
from fedclade.local.train import train
from fedclade.local.workbench import Workbench
from fedclade.nets import Net
from fedclade.nouns import LocalTraining, Round, Row

CHANCE = np.random.default_rng(7)
EXAMPLES, FEATURES, CLASSES = 23, 5, 3
INPUTS: NDArray[np.float32] = CHANCE.normal(size=(EXAMPLES, FEATURES)).astype(np.float32)
LABELS: NDArray[np.int64] = CHANCE.integers(CLASSES, size=EXAMPLES)
PART = Part(Pool(INPUTS.copy(), LABELS.copy()), np.arange(EXAMPLES))


def two_layers() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, CLASSES))


def frozen_middle() -> nn.Module:
    module = nn.Sequential(nn.Linear(FEATURES, 8), nn.Linear(8, 8), nn.Linear(8, CLASSES))
    module[1].requires_grad_(False)
    return module


def dropping() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.Dropout(0.5), nn.Linear(8, CLASSES))


def normalising() -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(FEATURES), nn.Linear(FEATURES, CLASSES))


def trained(net: Net, now: Round, part: Part = PART, client: str = "a") -> Row:
    return train(Workbench(net), net.first(0), part, now, client)[0]


def by_torch(module: nn.Module, now: Round, client: str) -> float:
    """Train in place by torch.optim.SGD; the mean loss of the last epoch."""
    how, order, total = now.local, now.generator("batches", client), 0.0
    sgd = torch.optim.SGD(module.parameters(), lr=how.lr, momentum=how.momentum, weight_decay=how.weight_decay)
    for _ in range(how.epochs):
        total, shuffled = 0.0, order.permutation(EXAMPLES)
        for first in range(0, EXAMPLES, how.batch):
            batch = shuffled[first : first + how.batch]
            sgd.zero_grad()
            loss = cross_entropy(module(torch.tensor(INPUTS[batch])), torch.tensor(LABELS[batch]))
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            sgd.step()
            total += loss.item() * len(batch)
    return total / EXAMPLES


@pytest.mark.parametrize("make", [two_layers, frozen_middle])
@pytest.mark.parametrize(
    "how",
    [
        LocalTraining(batch=23, lr=0.1),
        LocalTraining(batch=23, lr=0.1, epochs=4, momentum=0.9),
        LocalTraining(batch=23, lr=0.1, epochs=3, weight_decay=0.1),
        LocalTraining(batch=5, lr=0.1),  # 5, 5, 5, 5, 3
        LocalTraining(batch=100, lr=0.1, epochs=2),
        LocalTraining(batch=1, lr=0.05),
        LocalTraining(batch=4, lr=0.05, epochs=3, momentum=0.5, weight_decay=0.01),
    ],
    ids=["plain", "momentum", "weight decay", "short last batch", "batch over all", "one by one", "everything"],
)
def test_training_is_torchs_sgd(make: Callable[[], nn.Module], how: LocalTraining) -> None:
    now = Round(3, 11, local=how)
    net = Net("net", make)
    reference = net.fresh(1)
    row, loss = train(Workbench(net), net.row(reference), PART, now, "a")
    expected_loss = by_torch(reference, now, "a")
    weights = parameters_to_vector(p for p in reference.parameters() if p.requires_grad).detach().numpy()
    frozen = [p.detach().numpy().reshape(-1) for p in reference.parameters() if not p.requires_grad]
    np.testing.assert_allclose(row, np.concatenate([weights, *frozen]), rtol=0, atol=1e-6)
    assert loss == pytest.approx(expected_loss, abs=1e-6)
    assert row.dtype == np.float32


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_fedprox_is_the_proximal_gradient_by_hand(momentum: float) -> None:
    """Softmax regression in numpy: gradient X'(p - y)/n + mu (w - w_start)."""
    mu, lr = 0.7, 0.2
    net = Net("softmax", lambda: nn.Linear(FEATURES, CLASSES))
    start = net.first(5)
    now = Round(2, 0, local=LocalTraining(batch=6, lr=lr, epochs=3, momentum=momentum), proximal=mu)
    row, _ = train(Workbench(net), start, PART, now, "a")
    plain, _ = train(Workbench(net), start, PART, replace(now, proximal=0.0), "a")

    weights = start.astype(np.float64)
    velocity, order = np.zeros_like(weights), now.generator("batches", "a")
    for _ in range(3):
        shuffled = order.permutation(EXAMPLES)
        for first in range(0, EXAMPLES, 6):
            batch = shuffled[first : first + 6]
            inputs = INPUTS[batch].astype(np.float64)
            logits = inputs @ weights[:15].reshape(CLASSES, FEATURES).T + weights[15:]
            error = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) - np.eye(CLASSES)[LABELS[batch]]
            slope = np.concatenate([(error.T @ inputs).reshape(-1), error.sum(axis=0)]) / len(batch)
            velocity = momentum * velocity + slope + mu * (weights - start)
            weights = weights - lr * velocity
    np.testing.assert_allclose(row, weights, rtol=0, atol=1e-6)
    assert np.linalg.norm(row - start) < np.linalg.norm(plain - start), "pulled back to where it started"


def test_dropout_follows_seed_round_and_client_alone() -> None:
    """On one single example the order of batches says nothing: what differs is dropped units."""
    net, single = Net("dropping", dropping), Part(PART.pool, np.array([0]))
    now = Round(1, 0, local=LocalTraining(batch=1, epochs=10, lr=0.1))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        before = torch.get_rng_state()
        same = trained(net, now, single)
        assert torch.equal(torch.get_rng_state(), before), "torch's own randomness is left alone"
    assert same.tolist() == trained(net, now, single).tolist()
    others = [trained(net, replace(now, number=2), single), trained(net, replace(now, seed=1), single)]
    others.append(trained(net, now, single, "b"))
    assert len({tuple(row) for row in [same, *others]}) == 4
    plain = [trained(Net("plain", two_layers), replace(now, number=number), single).tolist() for number in (1, 2)]
    assert plain[0] == plain[1]


def test_the_start_is_not_changed_and_the_result_is_its_own() -> None:
    net, now = Net("one tensor", lambda: nn.Linear(FEATURES, CLASSES, bias=False)), Round(1, 0)
    bench, start = Workbench(net), net.first(0)
    start.flags.writeable = False
    row, _ = train(bench, start, PART, now, "a")
    kept = row.copy()
    assert start.tolist() == net.first(0).tolist() != row.tolist()
    train(bench, row, PART, now, "a")
    assert row.tolist() == kept.tolist()


def test_the_order_of_batches_follows_the_round() -> None:
    net, now = Net("net", two_layers), Round(1, 0)
    assert trained(net, now).tolist() != trained(net, replace(now, number=2)).tolist()


def test_batch_norm_statistics_move_in_training() -> None:
    """One batch of all: 0.9 * 0 + 0.1 * mean and 0.9 * 1 + 0.1 * unbiased variance, at the end of the row."""
    row = trained(Net("normalising", normalising), Round(1, 0, local=LocalTraining(batch=EXAMPLES)))
    inputs = INPUTS.astype(np.float64)
    expected = np.concatenate([0.1 * inputs.mean(axis=0), 0.9 + 0.1 * inputs.var(axis=0, ddof=1)])
    np.testing.assert_allclose(row[-2 * FEATURES :], expected, rtol=0, atol=1e-6)
