"""Plain sequential SGD by nn.Module, autograd and torch.optim: what every path must agree with."""

from itertools import islice

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from fedclade.client.general import RowAndLoss, Training
from fedclade.client.plan import TrainingPath
from fedclade.core import generator
from fedclade.data import Part, Pool
from fedclade.nets import Net


def examples(count: int, shape: tuple[int, ...], classes: int, *, seed: int = 0, as_bytes: bool = False) -> Part:
    """Random examples, and every other one of a pool that has more of them."""
    rng = np.random.default_rng(seed)
    inputs: NDArray[np.generic] = rng.normal(size=(2 * count, *shape)).astype(np.float32)
    if as_bytes:
        inputs = rng.integers(256, size=(2 * count, *shape)).astype(np.uint8)
    return Part(Pool(inputs, rng.integers(classes, size=2 * count)), np.arange(0, 2 * count, 2))  # type: ignore[arg-type]  # one of its three kinds


def plain_sgd(net: Net, asked: Training) -> RowAndLoss:
    """E epochs on batches in the order that (seed, round, client) fixes; frozen tensors stand last in the row."""
    part, now, how, module = asked.part, asked.now, asked.now.local, net.module(asked.start).train()
    inputs, labels = torch.from_numpy(part.inputs), torch.from_numpy(part.labels)
    before = [parameter.detach().clone() for parameter in net.module(asked.anchor).parameters()]
    sgd = torch.optim.SGD(module.parameters(), how.lr, how.sgd.momentum, weight_decay=how.sgd.weight_decay)
    losses: list[float] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(now.generator("dropout", asked.client).integers(2**62)))
        for batches in batches_of(asked):
            losses = []
            for batch in batches:
                sgd.zero_grad()
                loss = cross_entropy(module(inputs[batch]), labels[batch])
                pull = sum(((mine - its) ** 2).sum() for mine, its in zip(module.parameters(), before, strict=True))
                (loss + now.proximal / 2 * pull).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                sgd.step()
                losses += [loss.item()] * len(batch)
    in_order = sorted(module.parameters(), key=lambda parameter: not parameter.requires_grad)
    return nn.utils.parameters_to_vector(in_order).detach().numpy(), float(np.mean(losses))


def batches_of(asked: Training) -> list[list[NDArray[np.int64]]]:
    """The batches of each epoch of a round; or, as one, a round's share of the batches of all epochs in one line."""
    now, how, count = asked.now, asked.now.local, len(asked.part)

    def cut(order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return [order[first : first + how.batch] for first in range(0, count, how.batch)]

    if how.steps_from == "epochs":
        shuffled = (generator(now.seed, epoch, "epoch", asked.client).permutation(count) for epoch in range(1000))
        line = (batch for order in shuffled for batch in cut(order))
        return [list(islice(line, (now.number - 1) * how.steps, now.number * how.steps))]
    rng = now.generator("batches", asked.client)
    return [cut(rng.permutation(count)) for _ in range(how.epochs)]


def assert_agrees(path: TrainingPath, net: Net, asked: Training) -> None:
    """The path trains this as plain SGD does, and the model moves."""
    row, loss = path.train(asked)
    wanted, wanted_loss = plain_sgd(net, asked)
    np.testing.assert_allclose(row, wanted, rtol=0, atol=1e-5)
    assert loss == pytest.approx(wanted_loss, abs=1e-5)
    assert row.dtype == np.float32
    assert np.abs(row - asked.start).max() > 1e-4
