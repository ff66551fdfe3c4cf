"""ABC's network (section 4.2 of the paper), to be trained: its forward pass in use is `fedclade.relate.attention`.

Linear layers with ReLU make each of N drifts short, multi-headed scaled dot-product attention mixes them, and a
decoder makes one drift of the mix: the one that the server's own examples cause. The paper gives no sizes; these are
ours.

Its decoder reads all clients' mixed drifts side by side (`flatten`), which ties training to one N and to an order. With
`pooled` it reads their mean: any N, and no order.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from fedclade.nets.net import Net
from fedclade.nouns import InputError, Row, generator

Head = Literal["flatten", "pooled"]

HIDDEN = (512, 128, 32)
HEADS = 4
DECODER = (256, 512)
BATCH, STEP = 32, 1e-3  # rounds in a step of Adam, and its size
HELD_OUT = 0.1  # of the rounds: the epoch that does best on these is kept
PATIENCE = 10  # epochs without a better one, then it is done

Watch = Callable[[int, float], None]
"""Told of each epoch: its number, and the error on held-out rounds, over that of predicting zero."""


class Network(nn.Module):
    """From the drifts of a round to the server's own; `clients` = 0: the pooled head."""

    def __init__(self, inputs: int, clients: int = 0) -> None:
        super().__init__()
        short = HIDDEN[-1]
        self.clients = clients
        self.encoder = nn.ModuleList(nn.Linear(given, outputs) for given, outputs in pairwise((inputs, *HIDDEN)))
        self.query, self.key = nn.Linear(short, short), nn.Linear(short, short)
        self.value, self.joined = nn.Linear(short, short), nn.Linear(short, short)
        sizes = (short * max(clients, 1), *DECODER, inputs)
        self.decoder = nn.ModuleList(nn.Linear(given, outputs) for given, outputs in pairwise(sizes))

    def encoded(self, drifts: Tensor) -> Tensor:
        """(..., clients, short)"""
        for layer in self.encoder:
            drifts = layer(drifts).relu()
        return drifts

    def split(self, values: Tensor) -> Tensor:
        """(..., heads, clients, short / heads)"""
        return values.reshape(*values.shape[:-1], HEADS, -1).transpose(-2, -3)

    def attention(self, encoded: Tensor) -> Tensor:
        """(..., heads, clients, clients): how much each client attends to each; rows sum to 1."""
        queries, keys = self.split(self.query(encoded)), self.split(self.key(encoded))
        logits: Tensor = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5
        return logits.softmax(-1)

    def weights(self, drifts: Tensor) -> Tensor:
        """(..., clients, clients): the mean of the heads."""
        return self.attention(self.encoded(drifts)).mean(-3)

    def forward(self, drifts: Tensor) -> Tensor:
        """(..., inputs) from (..., clients, inputs)."""
        encoded = self.encoded(drifts)
        mixed = (self.attention(encoded) @ self.split(self.value(encoded))).transpose(-2, -3).flatten(-2)
        attended: Tensor = self.joined(mixed)
        decoded = attended.flatten(-2) if self.clients else attended.mean(-2)
        for layer in self.decoder[:-1]:
            decoded = layer(decoded).relu()
        found: Tensor = self.decoder[-1](decoded)
        return found


def fitted(
    drifts: NDArray[np.float32],
    aims: NDArray[np.float32],
    *,
    head: Head,
    epochs: int,
    seed: int,
    watch: Watch = lambda _, __: None,
) -> tuple[Row, float]:
    """The network that gives the aims (rounds, numbers) of held-out rounds best from drifts (rounds, clients, numbers).

    As a row: encoder, query and key, each layer's weights and then its biases. And its error over that of zero. The
    order of clients is drawn anew in every step: a head that flattens must not learn it.
    """
    rounds, clients, inputs = drifts.shape
    if rounds < 2 or clients < 2:
        raise InputError(
            "too little was watched", where="attention", got=f"{rounds} rounds of {clients} clients", need="2 of each"
        )
    net = Net("attention", lambda: Network(inputs, clients if head == "flatten" else 0), own=False)
    network = net.module(net.first(seed)).train()
    assert isinstance(network, Network)
    given, wanted = torch.from_numpy(drifts), torch.from_numpy(aims)
    order = generator(seed, "held out").permutation(rounds)
    held, rest = np.split(order, [max(1, int(HELD_OUT * rounds))])
    zero = float((wanted[held] ** 2).mean()) or 1.0
    steps = torch.optim.Adam(network.parameters(), lr=STEP)
    best, least, since = row_of(network), float("inf"), 0
    for epoch in range(1, epochs + 1):
        chance = generator(seed, epoch, "rounds")
        shuffled = chance.permutation(rest)
        for start in range(0, len(shuffled), BATCH):
            some = shuffled[start : start + BATCH]
            steps.zero_grad()
            loss = mse_loss(network(given[some][:, chance.permutation(clients)]), wanted[some])
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            steps.step()
        with torch.inference_mode():
            error = float(mse_loss(network(given[held]), wanted[held])) / zero
        watch(epoch, error)
        since += 1
        if error < least:
            best, least, since = row_of(network), error, 0
        if since == PATIENCE:
            break
    return best, least


def row_of(network: Network) -> Row:
    """What is used of a network: the layers that lead to its attention."""
    layers = [*network.encoder, network.query, network.key]
    with torch.no_grad():
        row: Row = torch.cat([tensor.reshape(-1) for layer in layers for tensor in layer.parameters()]).numpy().copy()
    return row
