"""A module whose parameters and gradients are views into two flat vectors, so that a step of SGD is one operation."""

import torch
from torch import Tensor, nn

from fedclade.nets import Net
from fedclade.nets.net import tensors
from fedclade.nouns import Row


class Workbench:
    """One module, to be filled with one model after another."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.module: nn.Module = net.fresh(0)
        self.row = torch.zeros(net.size)
        self.gradient = torch.zeros(net.trained)
        for piece, (_, tensor, _) in zip(net.pieces, tensors(self.module), strict=True):
            tensor.data = self.row[piece.start : piece.stop].view(piece.shape)
            if piece.trained:
                tensor.grad = self.gradient[piece.start : piece.stop].view(piece.shape)

    @property
    def weights(self) -> Tensor:
        """The trained part of the row."""
        return self.row[: self.net.trained]

    def load(self, row: Row) -> None:
        """Fill the module with this model."""
        with torch.no_grad():
            self.row.copy_(torch.from_numpy(row.copy()))

    def unload(self) -> Row:
        """The model as it is now, in a row of its own."""
        return self.net.row(self.module)
