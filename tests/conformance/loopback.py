"""Flower without its processes: real messages to a real ClientApp, taken to bytes and back in both directions."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from flwr.app import Context, Error, Message, RecordDict
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents, validate_object_content
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from fedclade.core import ClientId
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.build import fleet_over
from fedclade.fleet.flower.apps import ClientApp, client_app
from fedclade.fleet.flower.grid import Deadlines, FlowerTransport
from fedclade.fleet.site import ModelSpec, SiteClient
from fedclade.nets import Net
from fedclade.nets.own_task import OwnTask

FIRST_NODE = 2**63 + 1  # node ids fill 64 bits: a float does not hold them
Tamper = Callable[[Message], Message | None]
"""What becomes of a client's message on its way; None: it never arrives."""


Mangle = Callable[[str, bytes, bytes], bytes | None]
"""From the kind, head and body of an object that a client sends to other bytes for it; None: as it is."""


def over_the_wire(message: Message, mangle: Mangle | None = None) -> Message:
    """The message after it has been bytes."""
    identity = message.object_id
    message.metadata.__dict__["_message_id"] = identity
    contents = {key: each.deflate() for key, each in get_all_nested_objects(message).items()}
    for key, content in list(contents.items()) if mangle else ():
        head, _, body = content.partition(b"\x00")
        assert mangle is not None
        changed = mangle(head.split(b" ")[0].decode(), head, body)
        if changed is not None:
            validate_object_content(changed)  # all that a SuperLink looks at
            contents[key] = changed
    arrived = inflate_object_from_contents(identity, contents)
    assert isinstance(arrived, Message)
    arrived.metadata.__dict__["_message_id"] = identity
    return arrived


class Loopback(Grid):
    """A grid whose nodes answer when they are asked for their replies, the last one first."""

    def __init__(self, nodes: Mapping[int, tuple[ClientApp, dict[str, str]]], registered: Mapping[int, str]) -> None:
        self.nodes, self.registered = dict(nodes), registered
        self.tamper: dict[int, Tamper] = {}
        self.mangle: dict[int, Mangle] = {}
        self.sent: list[Message] = []
        self.waiting: dict[str, Message] = {}
        self._run = Run.create_empty(run_id=7)
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 7, 1, 1  # the sender, as Flower keeps it

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(self, *_: object, **__: object) -> Message:
        raise NotImplementedError

    def get_node_ids(self) -> Iterable[int]:
        return list(self.nodes)

    def get_nodes(self) -> Iterable[NodeInfo]:
        return [NodeInfo(node_id=node, name=self.registered.get(node, "")) for node in self.nodes]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        accepted: list[str] = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            if message.metadata.dst_node_id in self.nodes:
                self.sent.append(message)
                self.waiting[message.metadata.message_id] = over_the_wire(message)
                accepted.append(message.metadata.message_id)
        return accepted

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        replies = []
        for identity in reversed(list(message_ids)):
            message = self.waiting.pop(identity, None)
            if message is not None and (reply := self.answer(message)) is not None:
                replies.append(reply)
        return replies

    def answer(self, message: Message) -> Message | None:
        node = message.metadata.dst_node_id
        if node not in self.nodes:
            return None
        app, config = self.nodes[node]
        context = Context(run_id=7, node_id=node, node_config=dict(config), state=RecordDict(), run_config={})
        try:
            reply = app(message, context)
        except Exception as error:  # as Flower does it
            return Message(Error(code=2, reason=str(error)), reply_to=message)
        reply.metadata.__dict__["_src_node_id"] = node
        tamper = self.tamper.get(node)
        tampered = tamper(reply) if tamper else reply
        enrols = message.metadata.message_type == "query.enrol"
        return None if tampered is None else over_the_wire(tampered, None if enrols else self.mangle.get(node))

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        raise NotImplementedError


def grid_of(federation: Federation, own_task: OwnTask | None = None) -> Loopback:
    """One node for each client, in another order than their names."""
    known = federation.without_truth()
    nodes = {FIRST_NODE + number: name for number, name in enumerate(reversed(known.clients))}
    app = client_app(partial(held, known), own_task=own_task)
    return Loopback({node: (app, {"name": name}) for node, name in nodes.items()}, registered=nodes)


def held(federation: Federation, config: Mapping[str, object], _: str) -> SiteClient:
    name = str(config["name"])
    return SiteClient(name, partial(federation.data_at, name))


def loopback(
    federation: Federation, net_name: str, grid: Loopback | None = None, late: tuple[ClientId, ...] = ()
) -> Callable[[Net], AbstractContextManager[Fleet]]:
    """A fleet over a loopback of this federation; late clients are there from round 2 on."""

    def opened(net: Net) -> Fleet:
        transport = FlowerTransport(
            grid or grid_of(federation),
            ModelSpec({"name": net_name}, federation.shape, federation.task),
            Deadlines(0.05, 0.05, 0.05, 0.05, 0.05),
            wait_for=len(federation),
            wait_seconds=2.0,
            present=(lambda n: [c for c in federation.clients if n > 1 or c not in late]) if late else None,
        )
        return fleet_over(transport, net, federation.shape)

    return opened
