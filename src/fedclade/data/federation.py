"""A federation: the clients' examples, what changes in which round, and the planted truth where the world has one."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from fedclade.core import ClientId, Groups, InputError, checked_ids
from fedclade.core.html import html_table, name_list
from fedclade.core.preparation import ColumnChoices, Preparation
from fedclade.core.problems import Problem
from fedclade.core.task import Task
from fedclade.data.examples import Part
from fedclade.data.image_folders import ImageForm

NO_TASK = Task()  # a federation of classes makes its own


class OwnFunctions(Protocol):
    """The functions of a task of the user's own: see `fedclade.nets.own_task`."""

    def task_for(self, task: Task) -> Task: ...


@dataclass(frozen=True, eq=False)
class ClientData:
    """The examples of one client: some to learn from, and others to be tested on."""

    train: Part
    test: Part


@dataclass(frozen=True, eq=False)
class Change:
    """A change of data from a round on."""

    round: int
    data: Mapping[ClientId, ClientData]
    """The new examples of the clients that have others."""
    truth: Groups | None
    """The planted groups from then on."""


@dataclass(frozen=True)
class Unprepared:
    """What a preparation must know of a table beside its rows."""

    choices: ColumnChoices
    client: str
    """The column that named the client of a row."""
    label: str
    """The column of the label; empty: there is none."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the table; a preparation says it together with what it finds."""


@dataclass(frozen=True, eq=False)
class Federation:
    """All clients with their examples."""

    name: str
    data: Mapping[ClientId, ClientData]
    classes: int
    """How many classes labels have; of a task without classes, kinds of labels where groups are looked for."""
    truth: Groups | None = None
    """The planted groups. Only a run's metrics may read them; no fleet and no method ever sees this object."""
    joins: Mapping[ClientId, int] = field(default_factory=dict)
    """The first round of a client that is not there from the start."""
    changes: tuple[Change, ...] = ()
    """In the order of their rounds."""
    class_names: tuple[str, ...] = ()
    """The names of the classes, where they have some."""
    unprepared: Unprepared | None = None
    """Where examples are rows of a table that are no inputs yet: what a preparation needs."""
    preparation: Preparation | None = None
    """How rows of a table became inputs."""
    preparation_bytes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """What clients told for it: bytes down and up, by verb."""
    image_form: ImageForm | None = None
    """How images of a folder became inputs."""
    kind: Literal["", "table", "images"] = ""
    """Of a user's own files and tables: what settings train well depends on it."""
    task: Task = NO_TASK
    """What is learned; by itself a classification."""
    own_task: OwnFunctions | None = None
    """The functions of a task of the user's own."""
    notes: tuple[str, ...] = ()
    """What a user should know of the data: rows and clients that were set aside, columns that were left out."""

    def __post_init__(self) -> None:
        if self.task.is_classification:  # who replaces the classes need not think of it
            object.__setattr__(self, "task", Task(count=self.classes, names=self.class_names))
        ids = checked_ids(self.data, where=self.name)
        shapes = {part.pool.inputs.shape[1:] for held in self.data.values() for part in (held.train, held.test)}
        if len(shapes) != 1:
            got = str(sorted(shapes))
            raise InputError("clients' inputs differ in shape", where=self.name, got=got, need="one shape")
        for data in self.data_by_round().values():
            for client, held in sorted(data.items()):
                for use, part in (("training", held.train), ("test", held.test)):
                    if len(part) == 0:
                        what, do = f'client "{client}" has no {use} examples', "give it examples or leave it out"
                        raise InputError(what, where=self.name, got="0", need="at least 1", do=do)
                    part.check(f'{self.name}, client "{client}"', self.task)
        for truth in (self.truth, *(change.truth for change in self.changes)):
            if truth is not None:
                truth.check_clients(ids)
        if unknown_clients := {*self.joins, *(client for change in self.changes for client in change.data)} - set(ids):
            need = "a client of the federation"
            raise InputError(f'client "{min(unknown_clients)}" is not known', where=self.name, need=need)
        if not self.clients_at(0):
            raise InputError("no client is there at the start", where=self.name, need="a client that joins at round 0")
        object.__setattr__(self, "data", {client: self.data[client] for client in ids})

    def data_by_round(self) -> dict[int, Mapping[ClientId, ClientData]]:
        """The data that clients get in each round: all of them at the start, then those that change."""
        rounds = [change.round for change in self.changes]
        if rounds != sorted(set(rounds)) or (rounds and rounds[0] < 1):
            got = str(rounds)
            raise InputError("changes are out of order", where=self.name, got=got, need="rounds from 1 on, rising")
        return {0: self.data, **{change.round: change.data for change in self.changes}}

    @property
    def clients(self) -> tuple[ClientId, ...]:
        """All of them, in sorted order."""
        return tuple(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return next(iter(self.data.values())).train.pool.inputs.shape[1:]

    def stored_preparation(self) -> bytes:
        """How raw data became inputs, as it is stored with a run; empty where they were inputs already."""
        if self.preparation is not None:
            return self.preparation.to_json()
        if self.image_form is not None:
            table = {"kind": "images", **self.image_form.to_json(), "class_names": list(self.class_names)}
            return json.dumps(table, ensure_ascii=False).encode() + b"\n"
        return b""

    def clients_at(self, number: int) -> tuple[ClientId, ...]:
        """The clients that are there in a round, in sorted order."""
        return tuple(sorted(client for client in self.data if self.joins.get(client, 0) <= number))

    def without_truth(self) -> "Federation":
        """The same clients and examples, and nothing that a method must not know: what a fleet is made of."""
        changes = tuple(replace(change, truth=None) for change in self.changes)
        return replace(self, truth=None, changes=changes)

    def data_at(self, client: ClientId, number: int) -> ClientData:
        """The data of a client in a round."""
        found = self[client]
        for change in self.changes:
            if change.round <= number and client in change.data:
                found = change.data[client]
        return found

    def truth_at(self, number: int) -> Groups | None:
        """The planted groups of a round."""
        truth = self.truth
        for change in self.changes:
            truth = change.truth if change.round <= number else truth
        return truth

    def __getitem__(self, client: ClientId) -> ClientData:
        if client not in self.data:
            raise InputError(f'there is no client "{client}"', where=self.name, need=f"one of {len(self.data)} ids")
        return self.data[client]

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[ClientId]:
        return iter(self.data)

    def __contains__(self, client: object) -> bool:
        return client in self.data

    def __repr__(self) -> str:
        groups = "no planted groups" if self.truth is None else f"{len(self.truth)} planted groups"
        learned = f"{self.classes} classes" if self.task.is_classification else self.task.kind
        return f"Federation({self.name}: {len(self)} clients, {learned}, {groups})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"Note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """Its size and what is learned as a table, for notebooks; notes below it."""
        learned = f"{self.classes} classes" if self.task.is_classification else self.task.kind
        names = f": {name_list(self.task.names)}" if self.task.names else ""
        cells = {
            "clients": str(len(self)),
            "training examples": f"{sum(len(held.train) for held in self.data.values()):,}",
            "test examples": f"{sum(len(held.test) for held in self.data.values()):,}",
            "an input": " x ".join(map(str, self.shape)),
            "learned": learned + names,
            "planted groups": "-" if self.truth is None else str(len(self.truth)),
        }
        return html_table(self.name, list(cells), [list(cells.values())], self.notes)

    def with_own_task(self, own: OwnFunctions) -> "Federation":
        """The same clients, which learn by a loss of the user's own."""
        return replace(self, task=own.task_for(self.task), own_task=own)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over every client's examples: a resumed run must find the data that it started with."""
        kind = "" if self.task.is_classification else f" {self.task}"
        whole = hashlib.sha256(f"{self.classes}{kind}\n".encode())
        pools: dict[int, bytes] = {}
        stages = self.data_by_round()
        whole.update(json.dumps([sorted(self.joins.items()), list(stages)]).encode())
        for client, held in ((client, data[client]) for data in stages.values() for client in sorted(data)):
            for part in (held.train, held.test):
                if id(part.pool) not in pools:
                    content = hashlib.sha256(f"{part.pool.inputs.dtype} {part.pool.inputs.shape}".encode())
                    content.update(np.ascontiguousarray(part.pool.inputs).data)
                    content.update(np.ascontiguousarray(part.pool.labels).data)
                    pools[id(part.pool)] = content.digest()
                whole.update(f"{client}\n{len(part)} {part.quarter_turns}\n".encode() + pools[id(part.pool)])
                whole.update(np.ascontiguousarray(part.index).data)
                whole.update(b"" if part.relabel is None else np.ascontiguousarray(part.relabel).data)
        return whole.hexdigest()
