"""The parts that worlds share: settings, checks, and the step from shares of examples to a federation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedclade.core import ClientId, Groups, InputError, settings
from fedclade.data.even_parts import even_out
from fedclade.data.examples import Index, Part, Source
from fedclade.data.federation import ClientData, Federation
from fedclade.data.shares import split

PositiveCount = Annotated[int, Field(ge=1, le=10**6)]
TOO_FEW = "too few examples for the clients"


@settings
class WorldSettings:
    """The settings of every world."""

    clients: PositiveCount = 20
    """How many clients."""
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """With test_on = "own", the share of its examples that a client is tested on."""
    test_on: Literal["own", "group"] = "own"
    """Tested on its own held-out share, or on all official test examples of its group's classes (FLT)."""


@settings
class GroupedWorldSettings(WorldSettings):
    """The settings of every world with planted groups."""

    groups: PositiveCount = 4
    """How many planted groups."""
    group_sizes: tuple[PositiveCount, ...] = ()
    """Counts or proportions of clients, such as (60, 25, 10, 4, 1); empty: alike."""


def check_enough(examples: int, clients: int, group_text: str = "") -> None:
    """An error unless every client can have two examples: one to learn from, one to be tested on."""
    if examples < 2 * clients:
        got = f"{examples} examples{group_text} for {clients} clients"
        do = f"ask for fewer clients, at most {examples // 2}{group_text}"
        raise InputError(TOO_FEW, where="data.clients", got=got, need="at least 2 each", do=do)


def check_square(shape: tuple[int, ...], where: str) -> None:
    """An error unless inputs of this shape are images that can be turned by a quarter."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise InputError("only square images can be turned", where=where, got=f"inputs {shape}", need="(..., n, n)")


def give_equally(
    positions: Index, label: int, max_size: int, clients: Sequence[ClientId], held: dict[ClientId, list[Index]]
) -> None:
    """Give each client as many of these positions as the others, in their order, at most `max_size`."""
    size = min(len(positions) // len(clients), max_size)
    if size == 0:
        what = "more clients in a group than examples of a class"
        got = f"{len(clients)} clients, {len(positions)} examples of class {label}"
        need = "at least one example of each class for each client"
        raise InputError(what, where="data.clients", got=got, need=need, do="ask for fewer clients")
    for number, client in enumerate(clients):
        held[client].append(np.sort(positions[number * size : (number + 1) * size]))


@dataclass(frozen=True)
class View:
    """A group's view of the examples: other labels, or turned images."""

    relabel: Index | None = None
    quarter_turns: int = 0

    def apply(self, part: Part) -> Part:
        """The same examples as this group sees them."""
        return replace(part, relabel=self.relabel, quarter_turns=self.quarter_turns)


def make_federation(
    world: str,
    asked: WorldSettings,
    source: Source,
    seed: int,
    shares: Mapping[ClientId, Index],
    groups: Sequence[Sequence[ClientId]] | None,
    views: Sequence[View] = (),
) -> Federation:
    """The federation of these shares of the source's examples.

    `groups` are the clients of each group, the planted truth; None: there are no groups. `views` are theirs, in the
    same order; none: all see the examples as they are.
    """
    for client, index in shares.items():
        if len(index) < 2:
            where, got = f"data.clients, {client}", f"{len(index)} for one client"
            raise InputError(TOO_FEW, where=where, got=got, need="at least 2 each", do="ask for fewer clients")
    data: dict[ClientId, ClientData] = {}
    for number, members in enumerate([tuple(shares)] if groups is None else groups):
        view = views[number] if views else View()
        official = official_tests(source, [shares[client] for client in members]) if asked.test_on == "group" else None
        for client in members:
            train, test = Part(source.train, shares[client]), official
            if test is None:
                key = (seed, world, "test", client)
                learned, tested = split(shares[client], source.train.labels, asked.test, key)
                train, test = Part(source.train, learned), Part(source.train, tested)
            data[client] = ClientData(view.apply(train), view.apply(test))
    if asked.test_on == "own":
        data = even_out(data, seed)
    truth = None if groups is None else Groups(tuple(tuple(members) for members in groups))
    return Federation(f"{source.name}, {world}", data, source.classes, truth=truth, class_names=source.class_names)


def official_tests(source: Source, shares: Sequence[Index]) -> Part:
    """The official test examples of the classes that are in these shares, and of no others."""
    if source.test is None:
        got, need = f'"group" with source {source.name}', "a source with a test set"
        what = "there are no official test examples"
        raise InputError(what, where="data.test_on", got=got, need=need, do='test_on = "own"')
    trained = np.unique(source.train.labels[np.concatenate(shares)])
    return Part(source.test, np.flatnonzero(np.isin(source.test.labels, trained)))
