"""Plain sequential SGD by nn.Module, autograd and torch.optim: what every path must agree with."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedclade.data import Part, Pool
from fedclade.nets import Net
from fedclade.nouns import Round, Row


@dataclass(frozen=True)
class Trained:
    """What a client ends with."""

    row: Row
    loss: float


def examples(count: int, shape: tuple[int, ...], classes: int, *, seed: int = 0, as_bytes: bool = False) -> Part:
    """Random examples, and every other one of a pool that has more of them."""
    chance = np.random.default_rng(seed)
    inputs: NDArray[np.generic] = chance.normal(size=(2 * count, *shape)).astype(np.float32)
    if as_bytes:
        inputs = chance.integers(256, size=(2 * count, *shape)).astype(np.uint8)
    return Part(Pool(inputs, chance.integers(classes, size=2 * count)), np.arange(0, 2 * count, 2))  # type: ignore[arg-type]  # one of its three kinds


def plain_sgd(net: Net, start: Row, part: Part, now: Round, client: str, towards: Row | None = None) -> Trained:
    """E epochs on batches in the order that (seed, round, client) fixes; the mean loss of the last one."""
    how, module = now.local, net.module(start).train()
    inputs, labels = torch.from_numpy(part.inputs), torch.from_numpy(part.labels)
    anchor = net.module(start if towards is None else towards)
    before: list[Tensor] = [parameter.detach().clone() for parameter in anchor.parameters()]
    sgd = torch.optim.SGD(module.parameters(), lr=how.lr, momentum=how.momentum, weight_decay=how.weight_decay)
    order = now.generator("batches", client)
    losses: list[float] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(now.generator("dropout", client).integers(2**62)))
        for _ in range(how.epochs):
            losses, shuffled = [], order.permutation(len(part))
            for first in range(0, len(part), how.batch):
                batch = shuffled[first : first + how.batch]
                sgd.zero_grad()
                loss = cross_entropy(module(inputs[batch]), labels[batch])
                pull = sum(((mine - its) ** 2).sum() for mine, its in zip(module.parameters(), before, strict=True))
                (loss + now.proximal / 2 * pull).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                sgd.step()
                losses += [loss.item()] * len(batch)
    return Trained(nn.utils.parameters_to_vector(module.parameters()).detach().numpy(), float(np.mean(losses)))
