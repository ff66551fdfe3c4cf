"""The plain loop that everything is compared with: nn.Module, autograd, optim.SGD, one thread, one client at a time."""

import torch
from torch.nn.functional import cross_entropy

from fedclade.client import one_thread
from fedclade.core import Round, Row
from fedclade.data import Federation
from fedclade.nets import Net


class PlainLoop:
    """SGD in torch and nothing else. It takes the fleet's batches, so both end alike."""

    def __init__(self, net: Net) -> None:
        self._net = net
        self._module = net.initial_module(0)

    def mean(self, start: Row, federation: Federation, clients: tuple[str, ...], now: Round) -> Row:
        """Each client trains from `start`; the mean of their models, weighted by examples."""
        how = now.local
        with one_thread():
            model = self._module.train()
            first = {name: value.clone() for name, value in self._net.module(start).state_dict().items()}
            total = torch.zeros(len(start), dtype=torch.float64)
            for client in clients:
                part = federation[client].train
                inputs, labels = torch.from_numpy(part.inputs), torch.from_numpy(part.labels)
                model.load_state_dict(first)
                optimiser = torch.optim.SGD(
                    model.parameters(), lr=how.lr, momentum=how.sgd.momentum, weight_decay=how.sgd.weight_decay
                )
                order = now.generator("batches", client)
                for _ in range(how.epochs):
                    for chosen in torch.split(torch.from_numpy(order.permutation(len(part))), how.batch):
                        optimiser.zero_grad()
                        cross_entropy(model(inputs[chosen]), labels[chosen]).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                        optimiser.step()
                total += len(part) * torch.from_numpy(self._net.row(model))
            mean: Row = (total / sum(len(federation[client].train) for client in clients)).float().numpy()
        return mean
