"""ABC's network (section 4.2 of the paper), to be trained: its forward pass in use is `fedclade.methods.abc.attention`.

Linear layers with ReLU make each of N drifts short, multi-headed scaled dot-product attention mixes them, and a
decoder makes one drift of the mix: the one that the server's own examples cause. The paper gives no sizes; we chose
these.

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

from fedclade.core import InputError, Row, generator
from fedclade.nets.attention_files import HEADS, HIDDEN
from fedclade.nets.net import Net

DecoderHead = Literal["flatten", "pooled"]

DECODER = (256, 512)
BATCH, STEP = 32, 1e-3  # rounds in a step of Adam, and its size
HELD_OUT = 0.1  # of the rounds: the epoch that does best on these is kept
PATIENCE = 10  # epochs without a better one, then it is done

FitProgress = Callable[[int, float], None]
"""Called after each epoch with its number and the error on held-out rounds, over that of predicting zero."""


class AttentionNetwork(nn.Module):
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

    def encode(self, drifts: Tensor) -> Tensor:
        """(..., clients, short)"""
        for layer in self.encoder:
            drifts = layer(drifts).relu()
        return drifts

    def split_heads(self, values: Tensor) -> Tensor:
        """(..., heads, clients, short / heads)"""
        return values.reshape(*values.shape[:-1], HEADS, -1).transpose(-2, -3)

    def attention(self, encoded: Tensor) -> Tensor:
        """(..., heads, clients, clients): how much each client attends to each; rows sum to 1."""
        queries, keys = self.split_heads(self.query(encoded)), self.split_heads(self.key(encoded))
        logits: Tensor = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5
        return logits.softmax(-1)

    def weights(self, drifts: Tensor) -> Tensor:
        """(..., clients, clients): the mean of the heads."""
        return self.attention(self.encode(drifts)).mean(-3)

    def forward(self, drifts: Tensor) -> Tensor:
        """(..., inputs) from (..., clients, inputs)."""
        encoded = self.encode(drifts)
        mixed = (self.attention(encoded) @ self.split_heads(self.value(encoded))).transpose(-2, -3).flatten(-2)
        attended: Tensor = self.joined(mixed)
        decoded = attended.flatten(-2) if self.clients else attended.mean(-2)
        for layer in self.decoder[:-1]:
            decoded = layer(decoded).relu()
        found: Tensor = self.decoder[-1](decoded)
        return found


def fit_network(
    drifts: NDArray[np.float32],
    targets: NDArray[np.float32],
    *,
    head: DecoderHead,
    epochs: int,
    seed: int,
    progress: FitProgress = lambda _, __: None,
) -> tuple[Row, float]:
    """The network that best predicts the targets (rounds, numbers) of held-out rounds from drifts.

    Drifts are (rounds, clients, numbers).

    As a row: encoder, query and key, each layer's weights and then its biases. And its error over that of zero. The
    order of clients is drawn anew in every step: a head that flattens must not learn it.
    """
    rounds, clients, inputs = drifts.shape
    if rounds < 2 or clients < 2:
        raise InputError(
            "too little was watched", where="attention", got=f"{rounds} rounds of {clients} clients", need="2 of each"
        )
    net = Net("attention", lambda: AttentionNetwork(inputs, clients if head == "flatten" else 0), is_custom=False)
    network = net.module(net.initial_row(seed)).train()
    assert isinstance(network, AttentionNetwork)
    given, wanted = torch.from_numpy(drifts), torch.from_numpy(targets)
    order = generator(seed, "held out").permutation(rounds)
    held, rest = np.split(order, [max(1, int(HELD_OUT * rounds))])
    zero = float((wanted[held] ** 2).mean()) or 1.0
    steps = torch.optim.Adam(network.parameters(), lr=STEP)
    best, least, since = row_of(network), float("inf"), 0
    for epoch in range(1, epochs + 1):
        rng = generator(seed, epoch, "rounds")
        shuffled = rng.permutation(rest)
        for start in range(0, len(shuffled), BATCH):
            some = shuffled[start : start + BATCH]
            steps.zero_grad()
            loss = mse_loss(network(given[some][:, rng.permutation(clients)]), wanted[some])
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            steps.step()
        with torch.inference_mode():
            error = float(mse_loss(network(given[held]), wanted[held])) / zero
        progress(epoch, error)
        since += 1
        if error < least:
            best, least, since = row_of(network), error, 0
        if since == PATIENCE:
            break
    return best, least


def row_of(network: AttentionNetwork) -> Row:
    """The layers of a network that are used after training: those that lead to its attention."""
    layers = [*network.encoder, network.query, network.key]
    with torch.no_grad():
        row: Row = torch.cat([tensor.reshape(-1) for layer in layers for tensor in layer.parameters()]).numpy().copy()
    return row
