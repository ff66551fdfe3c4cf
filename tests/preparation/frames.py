"""Tables of tests as federations whose rows are no inputs yet: all are learned from, and the first is tested on too."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fedclade.core import ClientId, Round
from fedclade.core.preparation import ColumnChoices, Preparation
from fedclade.data import ClientData, Federation
from fedclade.data.examples import Part, Pool
from fedclade.data.raw_table import RawTable, read_raw_table
from fedclade.fleet import Fleet
from fedclade.fleet.tables import table_fleet
from fedclade.fleet.transport import Enrolment, Transport
from fedclade.preparation import fit_preparation
from fedclade.wire import Arrival, Refusal, Reply
from fedclade.wire.message import AnyRequest

NOW = Round(0, 0)


def raw_table(columns: Mapping[str, object], *, keep_text: bool = False, **choices: Any) -> RawTable:
    """Columns as they are read from a file."""
    frame = pd.DataFrame(dict(columns))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return read_raw_table(table, table.column_names, keep_text=keep_text, **choices)


def federation_of(
    columns: Mapping[str, object], sites: Sequence[object], labels: Sequence[object], *, keep_text: bool = False
) -> Federation:
    """A federation from columns, the client of each row, and its label."""
    names = tuple(sorted({str(label) for label in labels}))
    numbers = np.array([names.index(str(label)) for label in labels], np.int64)
    empty = np.zeros((len(numbers), 0), np.float32)
    pool = Pool(empty, numbers, table=raw_table(columns, keep_text=keep_text), class_names=names)
    owners = np.array([str(site) for site in sites])
    data = {
        str(site): ClientData(Part(pool, rows), Part(pool, rows[:1]))
        for site in np.unique(owners)
        for rows in [np.flatnonzero(owners == site)]
    }
    return Federation("table", data, len(names), class_names=names)


def spread(columns: Mapping[str, Sequence[Any]], clients: int = 10) -> Federation:
    """A federation of these columns whose rows lie at clients in turn, with labels that say nothing."""
    rows = len(next(iter(columns.values())))
    labels = np.random.default_rng(7).choice(["no", "yes"], rows).tolist()
    return federation_of(columns, [f"s{row % clients:03}" for row in range(rows)], labels)


@dataclass
class Recorder:
    """A transport that remembers all that crosses it, and may bring replies in another order."""

    inner: Transport
    backwards: bool = False
    requests: list[AnyRequest] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    silent: ClientId = ""
    """A client that answers no more ..."""
    silent_after: int = 0
    """... after so many replies of all."""

    @property
    def cpu_seconds(self) -> float:
        return self.inner.cpu_seconds

    def begin(self, number: int) -> Sequence[Refusal]:
        return self.inner.begin(number)

    def enrolments(self) -> Mapping[ClientId, Enrolment]:
        known = self.inner.enrolments()
        return {client: known[client] for client in (reversed([*known]) if self.backwards else known)}

    def carry(self, requests: Mapping[ClientId, AnyRequest]) -> Iterable[Arrival]:
        self.requests += requests.values()
        arrivals = [*self.inner.carry(requests)]
        self.replies += [arrival for arrival in arrivals if isinstance(arrival, Reply)]
        if len(self.replies) > self.silent_after:
            arrivals = [arrival for arrival in arrivals if arrival.client != self.silent]
        return reversed(arrivals) if self.backwards else arrivals

    def close(self) -> None:
        self.inner.close()


def record(federation: Federation, *, backwards: bool = False) -> tuple[Fleet, Recorder]:
    """The fleet of a federation, and what crosses its transport."""
    fleet = table_fleet(federation)
    recorder = Recorder(fleet.transport, backwards)
    return replace(fleet, transport=recorder), recorder


def fit(federation: Federation, fleet: Fleet | None = None, **choices: Any) -> Preparation:
    """The preparation of a federation, fitted through its fleet."""
    chosen = ColumnChoices(**choices)
    return fit_preparation(fleet or table_fleet(federation), chosen, NOW, where="table", task=federation.task)


def own_files(*tables: Mapping[str, Sequence[Any]], labels: Sequence[str] = ("no", "yes")) -> Federation:
    """A federation of sites that each read a file of their own, with these labels in turn."""
    data = {}
    for number, columns in enumerate(tables):
        rows = len(next(iter(columns.values())))
        own = [labels[row % len(labels)] for row in range(rows)]
        alone = federation_of(columns, ["here"] * rows, own, keep_text=True)
        data[f"s{number:03}"] = alone["here"]
    return Federation("table", data, len(labels), class_names=tuple(sorted(labels)))
