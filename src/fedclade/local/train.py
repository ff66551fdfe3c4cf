"""Local training: mini-batch SGD on the client's own examples, in an order that (seed, round, client) fixes."""

from contextlib import AbstractContextManager

import torch
from torch.nn.functional import cross_entropy, mse_loss

from fedclade.data import Part
from fedclade.local.workbench import Workbench
from fedclade.nets import Net
from fedclade.nets.objective import predicted
from fedclade.nouns import ClientId, Round, Row


def train(
    bench: Workbench, start: Row, part: Part, now: Round, client: ClientId, towards: Row | None = None
) -> tuple[Row, float]:
    """The model after E epochs from `start`, and the mean loss of the last epoch; a pull is to `towards`, or to it."""
    how = now.local
    bench.load(start)
    bench.module.train(now.dropout)
    inputs, labels = torch.from_numpy(part.inputs), torch.from_numpy(part.labels)
    weights, gradient = bench.weights, bench.gradient
    anchor = weights.clone() if towards is None else torch.from_numpy(towards[: len(weights)].copy())
    velocity = torch.zeros_like(weights)
    order = now.generator("batches", client)
    total = 0.0
    with seeded(bench.net, now, client):
        for _ in range(how.epochs):
            total = 0.0
            shuffled = torch.from_numpy(order.permutation(len(part)))
            for chosen in torch.split(shuffled, how.batch):
                gradient.zero_()
                some = inputs[chosen]
                given, wanted = predicted(bench.module, some, labels[chosen])
                if not len(wanted):  # texts without a next word: there is no mean loss of nothing
                    continue
                loss = cross_entropy(given, wanted) if bench.net.aim == "labels" else mse_loss(given, some)
                loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                total += loss.item() * len(chosen)
                with torch.no_grad():
                    step = gradient
                    if how.weight_decay:
                        step = step.add_(weights, alpha=how.weight_decay)
                    if now.proximal:  # the gradient of mu/2 |w - anchor|^2
                        step = step.add_(weights - anchor, alpha=now.proximal)
                    if how.momentum:
                        step = velocity.mul_(how.momentum).add_(step)
                    weights.add_(step, alpha=-how.lr)
    return bench.unload(), total / len(part)


def seeded(net: Net, now: Round, client: ClientId) -> AbstractContextManager[None]:
    """Inside, a module draws what belongs to this client in this round: dropped units."""
    return net.seeded(dropout_seed(now, client))


def dropout_seed(now: Round, client: ClientId) -> int:
    """What torch's generator starts from when this client trains in this round."""
    return int(now.generator("dropout", client).integers(2**62))
