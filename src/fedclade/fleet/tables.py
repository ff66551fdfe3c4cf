"""Fleets without a net, whose clients are asked of the columns of their tables and of nothing else."""

from collections.abc import Iterable, Mapping

from fedclade.client.columns import COLUMN_ANSWERS
from fedclade.core import ClientId, Encoding, InputError, Row
from fedclade.core.task import Task
from fedclade.data import Federation
from fedclade.fleet.fleet import Fleet, ModelShape
from fedclade.fleet.transport import Enrolment, Transport
from fedclade.wire import Arrival, Refusal, Reply
from fedclade.wire.message import AnyRequest

UNKNOWN = Task()  # what is learned is not known yet


class TableTransport:
    """Carries requests to clients that have a table and no net yet."""

    cpu_seconds = 0.0

    def __init__(self, federation: Federation) -> None:
        self._federation = federation

    def begin(self, _: int) -> tuple[Refusal, ...]:
        """Nobody comes or goes."""
        return ()

    def enrolments(self) -> Mapping[ClientId, Enrolment]:
        """Those that are there at the start."""
        held = {client: self._federation[client] for client in self._federation.clients_at(0)}
        return {client: Enrolment(len(data.train), len(data.test)) for client, data in held.items()}

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        for client, request in requests.items():
            data = self._federation[client]
            arrays = COLUMN_ANSWERS[request.verb.name](request, data)
            yield Reply(request.verb.name, client, request.now.number, len(data.train), arrays)

    def close(self) -> None:
        """Nothing is open."""


class NoFiles:
    """A fleet without a net has no files of weights."""

    def encoder(self, name: str) -> Encoding:
        raise InputError("there is no net yet", where="fleet", got=f"encoder {name}")

    def attention(self, name: str, kind: str) -> Row:
        raise InputError("there is no net yet", where="fleet", got=f"{kind} {name}")


def raw_fleet(transport: Transport, task: Task = UNKNOWN) -> Fleet:
    """Clients whose rows are no inputs yet: they can be asked of their columns."""
    return Fleet(transport, ModelShape(0, (), task), NoFiles())


def table_fleet(federation: Federation) -> Fleet:
    """All clients of a federation whose examples are rows of a table."""
    return raw_fleet(TableTransport(federation), federation.task)
