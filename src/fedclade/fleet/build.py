"""A Fleet over a transport, for a net and examples of one form."""

from dataclasses import dataclass

from fedclade.core import Encoding, Row
from fedclade.fleet.fleet import Fleet, ModelShape
from fedclade.fleet.transport import Transport
from fedclade.nets import Net
from fedclade.nets.attention_files import open_attention
from fedclade.nets.weight_files import open_encoder


@dataclass(frozen=True)
class ServerFiles:
    """The files of weights as a server opens them, for examples of this shape."""

    shape: tuple[int, ...]

    def encoder(self, name: str) -> Encoding:
        return open_encoder(name, self.shape)

    def attention(self, name: str, kind: str) -> Row:
        return open_attention(name, kind).weights


def fleet_over(transport: Transport, net: Net, shape: tuple[int, ...]) -> Fleet:
    """All clients that this transport reaches."""
    return Fleet(transport, ModelShape(net.size, net.layers, net.task), ServerFiles(shape))
