"""The clients of a run: main metric, loss and group of each now, and its history."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fedclade.core import Damaged
from fedclade.dashboard.listing import key_of
from fedclade.dashboard.safe_reading import Mark, content, mark_of, short_text
from fedclade.store.client_table import CLIENT_SCHEMA, whole_batches
from fedclade.store.files import CLIENTS_FILE, CLIENTS_LOG
from fedclade.store.json_values import number

TableMarks = tuple[Mark | None, Mark | None]
SHOWN_CLIENTS = 1000  # clients in a table, the worst first
SHOWN_GROUPS = 50


@dataclass(frozen=True)
class Member:
    """A client as it is now."""

    key: str
    """Its name in addresses."""
    name: str
    group: int
    value: float | None
    """Of the main metric."""
    loss: float | None
    bytes: int
    took_part: int
    """Rounds."""


@dataclass(frozen=True)
class ClientRound:
    """A client in one round."""

    round: int
    value: float | None
    """Of the main metric."""
    loss: float | None
    group: int
    bytes: int
    took_part: bool


@dataclass(frozen=True)
class Group:
    """A group as it is now."""

    number: int
    size: int
    value: float | None
    """The mean over its clients of the main metric."""
    first_members: tuple[Member, ...]


@dataclass(frozen=True)
class RunClients:
    """All clients of a run."""

    table: pa.Table
    members: Mapping[str, Member]
    """By key, in the order of their names."""
    ids: Mapping[str, str]
    """The name of each, by key."""

    def worst_first(self, lower_is_better: bool) -> list[Member]:
        """The clients of a table: the worst first, those that were never evaluated last."""
        sign = -1 if lower_is_better else 1

        def place(member: Member) -> float:
            return math.inf if member.value is None else sign * member.value

        return sorted(self.members.values(), key=place)[:SHOWN_CLIENTS]

    def values(self) -> list[float]:
        """The main metric of every client that was evaluated."""
        return [float(f"{member.value:.4g}") for member in self.members.values() if member.value is not None]

    def groups(self, max_named: int = 12) -> list[Group]:
        """The groups by their numbers, each with its first clients."""
        by_group: dict[int, list[Member]] = {}
        for member in self.members.values():
            by_group.setdefault(member.group, []).append(member)
        found: list[Group] = []
        for group, members in sorted(by_group.items()):
            known = [member.value for member in members if member.value is not None]
            mean = float(np.mean(known)) if known else None
            found.append(Group(group, len(members), mean, tuple(members[:max_named])))
        return found

    def history(self, key: str) -> list[ClientRound]:
        """A client's rounds, the first one first; KeyError if there is no such client."""
        mine = self.table.filter(pc.equal(self.table["client"], self.ids[key])).to_pylist()
        return [
            ClientRound(
                line["round"] or 0,
                number(line["metric"]),
                number(line["loss"]),
                line["group"] or 0,
                line["bytes"] or 0,
                bool(line["took_part"]),
            )
            for line in mine
        ]


def marks_of(run: Path) -> TableMarks:
    """The marks of the files of the clients' table."""
    return mark_of(run / CLIENTS_FILE), mark_of(run / CLIENTS_LOG)


def table_bytes(run: Path) -> int:
    """The size of the clients' table so far."""
    return sum(mark.size for mark in marks_of(run) if mark is not None)


def read_clients(run: Path) -> RunClients:
    """The clients of a run so far. Raises Damaged if their table cannot be read."""
    table = clients_table(run)
    lines = last_lines(table)
    ids = {key_of(line["client"].encode()): line["client"] for line in lines}
    members = {
        key: Member(
            key=key,
            name=short_text(line["client"]),
            group=line["group_last"] or 0,
            value=number(line["metric_last"]),
            loss=number(line["loss_last"]),
            bytes=line["bytes_sum"] or 0,
            took_part=line["took_part_sum"] or 0,
        )
        for key, line in zip(ids, lines, strict=True)
    }
    return RunClients(table, members, ids)


def last_lines(table: pa.Table) -> list[dict[str, Any]]:
    """For each client its last values and its sums, in the order of names."""
    last = table.group_by("client", use_threads=False).aggregate(
        [("metric", "last"), ("loss", "last"), ("group", "last"), ("bytes", "sum"), ("took_part", "sum")]
    )
    return sorted((line for line in last.to_pylist() if line["client"] is not None), key=lambda line: line["client"])


def clients_table(run: Path) -> pa.Table:
    """The clients' table so far: of a finished run all of it, of a log the batches that are complete."""
    done = content(run / CLIENTS_FILE)
    try:
        if done:
            table = pq.read_table(pa.BufferReader(done), schema=CLIENT_SCHEMA, use_threads=False)
        else:
            table = pa.Table.from_batches(whole_batches(content(run / CLIENTS_LOG)), CLIENT_SCHEMA)
        values = pc.coalesce(table["metric"], table["accuracy"])  # a run of an earlier fedclade has no metric
        table = table.set_column(table.schema.get_field_index("metric"), CLIENT_SCHEMA.field("metric"), values)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        raise Damaged("the clients' table cannot be read", where=run.name, need="it as it was written") from None
    return table
