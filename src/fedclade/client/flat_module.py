"""A module whose parameters and gradients are views into two flat vectors, so that a step of SGD is one operation."""

import torch
from torch import Tensor, nn

from fedclade.client.devices import Device
from fedclade.core import Row
from fedclade.nets import Net


class FlatModule:
    """One module, to be filled with one model after another; none of them leaves a trace in the tensors of the next.

    What a module keeps outside of its parameters and buffers is its own affair, and is not reset.
    """

    def __init__(self, net: Net, device: Device = "cpu") -> None:
        self.net = net
        self.module: nn.Module = net.initial_module(0).to(device)
        self.row = torch.zeros(net.size, device=device)
        self.gradient = torch.zeros(net.trained_size, device=device)
        parameters = dict(self.module.named_parameters())
        self._buffers: list[tuple[nn.Module, str, Tensor | slice]] = []
        for piece in net.pieces:
            if piece.name in parameters:
                parameters[piece.name].data = self.row[piece.start : piece.stop].view(piece.shape)
                if piece.is_trained:
                    parameters[piece.name].grad = self.gradient[piece.start : piece.stop].view(piece.shape)
        places = {piece.name: slice(piece.start, piece.stop) for piece in net.pieces}
        for name, buffer in self.module.named_buffers():
            owner, _, own_name = name.rpartition(".")
            self._buffers.append((self.module.get_submodule(owner), own_name, places.get(name, buffer.clone())))

    @property
    def weights(self) -> Tensor:
        """The trained part of the row."""
        return self.row[: self.net.trained_size]

    def load(self, row: Row) -> None:
        """Fill the module with this model, and its buffers that are no part of a model with what they were at first."""
        self.net.check_row(row)
        with torch.no_grad():
            self.row.copy_(torch.from_numpy(row.copy()))
        for owner, name, first in self._buffers:  # a module may have put another tensor in the place of a buffer
            old = getattr(owner, name)
            setattr(owner, name, self.row[first].view(old.shape) if isinstance(first, slice) else first.clone())

    def unload(self) -> Row:
        """The model as it is now, in a row of its own."""
        return self.net.row(self.module)
