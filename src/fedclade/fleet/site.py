"""A client at its own place: how it answers one message, over any transport.

Flower starts a process for every message. torch takes most of its time, so it is loaded only where a verb needs it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from fedclade.core import ClientId, InputError, Rows
from fedclade.data import ClientData, Federation
from fedclade.data.recipe import read_recipe
from fedclade.wire import Arrays
from fedclade.wire.codec import Header, read_request, read_round, reply_header

if TYPE_CHECKING:
    from fedclade.client import Client
    from fedclade.nets import Module

OwnNet = Callable[[], "Module"]


@dataclass(frozen=True)
class ModelSpec:
    """The net and the form of the data, in every message: a site needs no file of the server."""

    net: Mapping[str, object]
    """`name`, and the net's settings."""
    shape: tuple[int, ...]
    classes: int

    def header(self) -> dict[str, object]:
        return {"net": dict(self.net), "shape": list(self.shape), "classes": self.classes}


@dataclass(frozen=True)
class SiteClient:
    """A client's name, and its data in a round."""

    name: ClientId
    data_at: Callable[[int], ClientData]


FindClient = Callable[[Mapping[str, object], str], SiteClient]
"""From a node's configuration and the id of the run to the client that it is."""


def enrol(header: Header, held: SiteClient) -> dict[str, object]:
    """What a client says of itself; an error unless its data are what the experiment says."""
    data = held.data_at(header["number"])
    check_fits(data, tuple(header["shape"]), header["classes"])
    return {"client": held.name, "train": len(data.train), "test": len(data.test)}


def answer(header: Header, rows: Rows, held: SiteClient, own_net: OwnNet | None) -> tuple[dict[str, object], Arrays]:
    """The header and the arrays of what a client answers to one request, which must be made out to it.

    What it draws depends on its name: a server that could ask under many names would see many draws of its noise.
    """
    from fedclade.client import one_thread

    request = read_request(header["request"], read_round(header["now"]), rows)
    if request.client != held.name:
        raise InputError("the request is for another client", where=request.verb.name)
    client = client_for(json.dumps([header["net"], header["shape"], header["classes"]]), own_net)
    with one_thread():
        reply = client.answer(request, held.data_at(request.now.number))
    return reply_header(reply), reply.arrays


@lru_cache(maxsize=4)
def client_for(spec: str, own_net: OwnNet | None) -> "Client":
    """The net of a run, made once in a process."""
    from fedclade.client import Client
    from fedclade.nets import net_for

    net, shape, classes = json.loads(spec)
    name = net.pop("name")
    return Client(net_for(own_net or name, tuple(shape), classes, {} if own_net else net))


def check_fits(data: ClientData, shape: tuple[int, ...], classes: int) -> None:
    for part in (data.train, data.test):
        if not len(part):
            raise InputError("there are no examples", got="0", need="at least 1 to learn from and 1 to test with")
        if part.inputs.shape[1:] != shape:
            raise InputError("the examples do not fit", got=str(part.inputs.shape[1:]), need=str(shape))
        if int(part.labels.max()) >= classes:
            raise InputError("a label does not fit", got=str(part.labels.max()), need=f"under {classes}")
        part.check("the site's data", classes)


@lru_cache(maxsize=2)
def federation_of(recipe: str) -> Federation:
    """The federation of a recipe, made once in a process."""
    data, seed = json.loads(recipe)
    return read_recipe(data).federation(seed).without_truth()


def simulated_client(recipe: str, config: Mapping[str, object], _: str) -> SiteClient:
    """The client that a simulated node plays; `recipe`: [data] and the seed, as JSON."""
    federation = federation_of(recipe)
    name = federation.clients[int(str(config["partition-id"]))]
    return SiteClient(name, partial(federation.data_at, name))
