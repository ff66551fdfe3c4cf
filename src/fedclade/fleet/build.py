"""A Fleet over a transport, for a net and examples of one form."""

from fedclade.fleet.fleet import Fleet, ModelShape
from fedclade.fleet.transport import Transport
from fedclade.nets import Net
from fedclade.nets.weight_files import ServerFiles


def fleet_over(transport: Transport, net: Net, shape: tuple[int, ...], classes: int) -> Fleet:
    """All clients that this transport reaches."""
    return Fleet(transport, ModelShape(net.size, net.layers, classes), ServerFiles(shape))
