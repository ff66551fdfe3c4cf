"""A client at its own place: how it answers one message, over any transport.

Flower starts a process for every message. torch takes most of its time, so it is loaded only where a verb needs it.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError, Rows
from fedclade.core.preparation import Preparation, read_preparation
from fedclade.core.settings import build_settings, settings_table
from fedclade.core.task import Task
from fedclade.data import ClientData, Federation, Pool
from fedclade.data.prepared import prepare_client, prepare_pool
from fedclade.data.recipe import read_recipe
from fedclade.data.sites import SiteData, SiteTables, site_examples
from fedclade.wire import Arrays, Reply
from fedclade.wire.codec import Header, read_request, read_round, reply_header

if TYPE_CHECKING:
    from fedclade.client import Client
    from fedclade.nets import Module
    from fedclade.nets.own_task import OwnTask

OwnNet = Callable[[], "Module"]
log = logging.getLogger("flwr")  # the log of a site's processes
MAX_NUMBERS = 2**29  # of all rows together: a server may not fill a site's memory
NO_ROWS: Rows = np.zeros((0, 0), np.float32)


@dataclass(frozen=True)
class ModelSpec:
    """The net and the form of the data, in every message: a site needs no file of the server."""

    net: Mapping[str, object]
    """`name`, and the net's settings."""
    shape: tuple[int, ...]
    """Of one input; empty while it is not known, before there is a preparation."""
    task: Task
    """What is learned; not known yet where there is no shape."""
    tables: SiteTables | None = None
    """What becomes of tables at sites."""
    preparation: bytes = b""
    """How rows become inputs, as JSON; empty where they are inputs already, or not yet."""

    def header(self) -> dict[str, object]:
        tables = {"tables": settings_table(self.tables)} if self.tables is not None else {}
        return {"net": dict(self.net), "shape": list(self.shape), "task": settings_table(self.task), **tables}

    def arrays(self) -> Arrays:
        """What goes with the header in every message."""
        return {"preparation": np.frombuffer(self.preparation, np.uint8)} if self.preparation else {}


@dataclass(frozen=True)
class SiteClient:
    """A client's name, and its data in a round."""

    name: ClientId
    data_at: Callable[[int], SiteData]


FindClient = Callable[[Mapping[str, object], str], SiteClient]
"""From a node's configuration and the id of the run to the client that it is."""


def enrol(header: Header, arrays: Arrays, held: SiteClient) -> dict[str, object]:
    """What a client says of itself; an error unless its data are what the experiment says."""
    data = examples_at(header, arrays, held, header["number"])
    rows = len(data.train.pool.labels)
    if "tables" in header and (aside := rows - len(data.train) - len(data.test)):
        log.warning("fedclade: %d of %d rows have no label that is known, and are set aside", aside, rows)
    check_fits(data, tuple(header["shape"]), read_task(header["task"]))
    return {"client": held.name, "train": len(data.train), "test": len(data.test)}


def answer(
    header: Header, arrays: Arrays, held: SiteClient, own_net: OwnNet | None, own_task: "OwnTask | None" = None
) -> tuple[dict[str, object], Arrays]:
    """The header and the arrays of what a client answers to one request, which must be made out to it.

    What it draws depends on its name: a server that could ask under many names would see many draws of its noise.
    """
    from fedclade.client import one_thread
    from fedclade.client.columns import COLUMN_ANSWERS

    rows = np.asarray(arrays.get("rows", NO_ROWS), np.float32)
    request = read_request(header["request"], read_round(header["now"]), rows)
    if request.client != held.name:
        raise InputError("the request is for another client", where=request.verb.name)
    data = examples_at(header, arrays, held, request.now.number)
    with one_thread():
        if request.verb.name in COLUMN_ANSWERS:  # there may be no net yet
            found = COLUMN_ANSWERS[request.verb.name](request, data)
            reply = Reply(request.verb.name, request.client, request.now.number, len(data.train), found)
        else:
            client = client_for(json.dumps([header["net"], header["shape"], header["task"]]), own_net, own_task)
            reply = client.answer(request, data)
    return reply_header(reply), reply.arrays


def examples_at(header: Header, arrays: Arrays, held: SiteClient, number: int) -> ClientData:
    """The examples of a client in a round, prepared as the server says."""
    tables = build_settings(SiteTables, header["tables"], where="data") if "tables" in header else None
    data = site_examples(held.data_at(number), tables, held.name)
    if "preparation" not in arrays:
        return data
    text = np.asarray(arrays["preparation"], np.uint8).tobytes()
    if len(data.train.pool.labels) * preparation_of(text).width > MAX_NUMBERS:
        need = f"at most {MAX_NUMBERS} numbers"
        raise InputError(
            "the prepared rows are too many", where=held.name, got=f"{preparation_of(text).width} inputs", need=need
        )
    return prepare_client(data, preparation_of(text), lambda pool, _: prepare_once(pool, text))


@lru_cache(maxsize=2)
def preparation_of(text: bytes) -> Preparation:
    """The preparation of a message, read once in a process."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    return read_preparation(table, "the server's preparation")


@lru_cache(maxsize=2)
def prepare_once(pool: Pool, text: bytes) -> tuple[Pool, NDArray[np.bool_]]:
    """A pool that simulated clients share is prepared once in a process."""
    return prepare_pool(pool, preparation_of(text))


@lru_cache(maxsize=4)
def client_for(spec: str, own_net: OwnNet | None, own_task: "OwnTask | None") -> "Client":
    """The net of a run, made once in a process."""
    from fedclade.client import Client
    from fedclade.nets import net_for

    net, shape, table = json.loads(spec)
    name, task = net.pop("name"), read_task(table)
    settings = {} if own_net else net
    return Client(net_for(own_net or name, tuple(shape), task.count, settings, task=task, own_task=own_task))


def read_task(table: Mapping[str, object]) -> Task:
    """The task of a message."""
    return build_settings(Task, table, where="task")


def check_fits(data: ClientData, shape: tuple[int, ...], task: Task) -> None:
    for part in (data.train, data.test):
        if not len(part):
            raise InputError("there are no examples", got="0", need="at least 1 to learn from and 1 to test with")
        if not shape:
            continue  # not known yet
        if part.inputs.shape[1:] != shape:
            raise InputError("the examples do not fit", got=str(part.inputs.shape[1:]), need=str(shape))
        if task.labels == "class" and int(part.labels.max()) >= task.count:
            raise InputError("a label does not fit", got=str(part.labels.max()), need=f"under {task.count}")
        part.check("the site's data", task)


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
