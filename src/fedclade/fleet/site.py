"""A client at its own place: what it does with one message, whoever carried it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.data import ClientData, Federation
from fedclade.data.recipe import read_recipe
from fedclade.fleet.letters import ask_of
from fedclade.local import Client, one_thread
from fedclade.nets import Module, net_for
from fedclade.nouns import ClientId, InputError, Rows

Trip = Literal["train", "losses", "evaluate", "sketch", "scatter", "moments", "changed", "enrol"]
"""What a message asks for: a verb, or that the client says who it is."""
OwnNet = Callable[[], Module]


@dataclass(frozen=True)
class Task:
    """What every message says about the net and the data, so that a site needs no file of the server's."""

    net: Mapping[str, object]
    """`name`, and the net's settings."""
    shape: tuple[int, ...]
    classes: int

    def header(self) -> dict[str, object]:
        """As JSON can hold it."""
        return {"net": dict(self.net), "shape": list(self.shape), "classes": self.classes}


@dataclass(frozen=True)
class Held:
    """Who a client is, and what it holds in a round."""

    name: ClientId
    at: Callable[[int], ClientData]


Find = Callable[[Mapping[str, object], str], Held]
"""From a node's configuration and the id of the run to the client that it is."""


def answer(
    trip: Trip, header: Mapping[str, Any], rows: Rows, held: Held, own_net: OwnNet | None
) -> tuple[dict[str, object], Mapping[str, NDArray[np.generic]]]:
    """The header and the arrays of what a client answers to one message."""
    shape, classes = tuple(header["shape"]), header["classes"]
    if trip == "enrol":
        data = held.at(header["number"])
        check_fits(data, shape, classes)
        return {"client": held.name, "train": len(data.train), "test": len(data.test)}, {}
    ask = ask_of(header, rows)
    client = client_for(json.dumps([header["net"], shape, classes]), own_net)
    with one_thread():
        reply = client.answer(ask, held.at(ask.now.number))
    told = {"verb": reply.verb, "client": held.name, "round": reply.round, "examples": reply.examples}
    return told, reply.arrays


@lru_cache(maxsize=4)
def client_for(task: str, own_net: OwnNet | None) -> Client:
    """The net of a run, made once in a process."""
    net, shape, classes = json.loads(task)
    name = net.pop("name")
    return Client(net_for(own_net or name, tuple(shape), classes, {} if own_net else net))


def check_fits(data: ClientData, shape: tuple[int, ...], classes: int) -> None:
    """An error unless the data are what the experiment says."""
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


def played(recipe: str, config: Mapping[str, object], _: str) -> Held:
    """The client whose part a simulated node plays; `recipe`: [data] and the seed, as JSON."""
    federation = federation_of(recipe)
    name = federation.clients[int(str(config["partition-id"]))]
    return Held(name, partial(federation.held, name))
