"""The clients of a run: how each one fares now, in which group, and its history."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fedclade.dashboard.listing import key_of
from fedclade.dashboard.reading import Mark, content, mark_of, number, word
from fedclade.nouns import Damaged
from fedclade.runs.client_table import CLIENTS, whole_batches

Marks = tuple[Mark | None, Mark | None]
SHOWN = 1000  # clients in a table, the worst first
SHOWN_GROUPS = 50


@dataclass(frozen=True)
class Member:
    """A client as it is now."""

    key: str
    """Its name in addresses."""
    name: str
    group: int
    accuracy: float | None
    loss: float | None
    bytes: int
    took_part: int
    """Rounds."""


@dataclass(frozen=True)
class Moment:
    """A client in one round."""

    round: int
    accuracy: float | None
    loss: float | None
    group: int
    bytes: int
    took_part: bool


@dataclass(frozen=True)
class Group:
    """A group as it is now."""

    number: int
    size: int
    accuracy: float | None
    """Mean over its clients."""
    some: tuple[Member, ...]


@dataclass(frozen=True)
class Crowd:
    """All clients of a run."""

    table: pa.Table
    members: Mapping[str, Member]
    """By key, in the order of their names."""
    ids: Mapping[str, str]
    """What each is called, by key."""

    def worst_first(self) -> list[Member]:
        """Those that a table shows: the worst first, who was never evaluated last."""
        return sorted(self.members.values(), key=lambda member: 2.0 if member.accuracy is None else member.accuracy)[
            :SHOWN
        ]

    def accuracies(self) -> list[float]:
        """Of everybody who was evaluated."""
        return [round(member.accuracy, 4) for member in self.members.values() if member.accuracy is not None]

    def groups(self, named: int = 12) -> list[Group]:
        """The groups by their numbers, each with its first clients."""
        sorted_out: dict[int, list[Member]] = {}
        for member in self.members.values():
            sorted_out.setdefault(member.group, []).append(member)
        found: list[Group] = []
        for group, members in sorted(sorted_out.items()):
            known = [member.accuracy for member in members if member.accuracy is not None]
            mean = float(np.mean(known)) if known else None
            found.append(Group(group, len(members), mean, tuple(members[:named])))
        return found

    def history(self, key: str) -> list[Moment]:
        """A client's rounds, the first one first; KeyError if there is no such client."""
        mine = self.table.filter(pc.equal(self.table["client"], self.ids[key])).to_pylist()
        return [
            Moment(
                line["round"] or 0,
                number(line["accuracy"]),
                number(line["loss"]),
                line["group"] or 0,
                line["bytes"] or 0,
                bool(line["took_part"]),
            )
            for line in mine
        ]


def marks_of(run: Path) -> Marks:
    """What the clients' table is made of now."""
    return mark_of(run / "clients.parquet"), mark_of(run / "clients.arrows")


def crowd_of(run: Path) -> Crowd:
    """The clients of a run so far. Damaged, if their table cannot be read."""
    table = clients_table(run)
    lines = last_lines(table)
    ids = {key_of(line["client"].encode()): line["client"] for line in lines}
    members = {
        key: Member(
            key=key,
            name=word(line["client"]),
            group=line["group_last"] or 0,
            accuracy=number(line["accuracy_last"]),
            loss=number(line["loss_last"]),
            bytes=line["bytes_sum"] or 0,
            took_part=line["took_part_sum"] or 0,
        )
        for key, line in zip(ids, lines, strict=True)
    }
    return Crowd(table, members, ids)


def last_lines(table: pa.Table) -> list[dict[str, Any]]:
    """For each client the last of what is known of it, and its sums, in the order of names."""
    last = table.group_by("client", use_threads=False).aggregate(
        [("accuracy", "last"), ("loss", "last"), ("group", "last"), ("bytes", "sum"), ("took_part", "sum")]
    )
    return sorted((line for line in last.to_pylist() if line["client"] is not None), key=lambda line: line["client"])


def clients_table(run: Path) -> pa.Table:
    """The clients' table so far: the whole of a finished run's, and of a log as much as is written."""
    done = content(run / "clients.parquet")
    try:
        if done:
            table = pq.read_table(pa.BufferReader(done), schema=CLIENTS, use_threads=False)
        else:
            table = pa.Table.from_batches(whole_batches(content(run / "clients.arrows")), CLIENTS)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):
        raise Damaged("the clients' table cannot be read", where=run.name, need="it as it was written") from None
    return table
