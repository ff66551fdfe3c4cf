"""What worlds share: the settings that every one of them has, and how shares of examples become a federation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedclade.data.examples import Index, Part, Source
from fedclade.data.federation import ClientData, Federation
from fedclade.data.shares import split
from fedclade.nouns import ClientId, Groups, InputError, settings

Count = Annotated[int, Field(ge=1, le=10**6)]


@settings
class Clients:
    """What every world can be asked for."""

    clients: Count = 20
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of its own examples that a client is tested on, with test_on = "own"."""
    test_on: Literal["own", "group"] = "own"
    """Tested on its own held-out share, or on all official test examples of its group's classes (FLT)."""


@settings
class GroupedClients(Clients):
    """What every world with planted groups can be asked for."""

    groups: Count = 4
    group_sizes: tuple[Count, ...] = ()
    """How the clients are shared out, as counts or proportions (60, 25, 10, 4, 1); empty: alike."""


def check_enough(examples: int, clients: int, whose: str = "") -> None:
    """An error unless everybody can have two examples: one to learn from, one to be tested on."""
    if examples < 2 * clients:
        raise InputError(
            "too few examples for the clients",
            where="data.clients",
            got=f"{examples} examples{whose} for {clients} clients",
            need="at least 2 each",
            do=f"ask for fewer clients, at most {examples // 2}{whose}",
        )


@dataclass(frozen=True)
class View:
    """How a group sees the examples."""

    relabel: Index | None = None
    quarter_turns: int = 0


AS_THEY_ARE = View()


def assembled(
    world: str,
    asked: Clients,
    source: Source,
    seed: int,
    shares: Mapping[ClientId, Index],
    home: Mapping[ClientId, int] | None,
    views: Sequence[View] = (),
    truth: Groups | None = None,
) -> Federation:
    """The federation of these shares of the source's examples.

    `home` is each client's group, None where there are none. The planted truth is `home`, unless another is given.
    """
    for client, index in shares.items():
        if len(index) < 2:
            raise InputError(
                "too few examples for the clients",
                where=f"data.clients, {client}",
                got=f"{len(index)} for one client",
                need="at least 2 each",
                do="ask for fewer clients",
            )
    group_tests = tests_of_groups(source, shares, home) if asked.test_on == "group" else None
    data: dict[ClientId, ClientData] = {}
    for client, index in shares.items():
        group = 0 if home is None else home[client]
        view = views[group] if views else AS_THEY_ARE
        if group_tests is not None:
            assert source.test is not None  # checked where the tests were made
            train, tested, pool = index, group_tests[group], source.test
        else:
            (train, tested), pool = (
                split(index, source.train.labels, asked.test, (seed, world, "test", client)),
                source.train,
            )
        data[client] = ClientData(
            Part(source.train, train, view.relabel, view.quarter_turns),
            Part(pool, tested, view.relabel, view.quarter_turns),
        )
    if truth is None and home is not None:
        truth = Groups.from_labels(home)
    return Federation(f"{source.name}, {world}", data, source.classes, truth=truth, class_names=source.class_names)


def tests_of_groups(
    source: Source, shares: Mapping[ClientId, Index], home: Mapping[ClientId, int] | None
) -> dict[int, Index]:
    """For each group the official test examples of the classes that it trains on, and of no others."""
    if source.test is None:
        raise InputError(
            "there are no official test examples",
            where="data.test_on",
            got=f'"group" with source {source.name}',
            need="a source with a test set",
            do='test_on = "own"',
        )
    groups = {client: 0 if home is None else home[client] for client in shares}
    trained: dict[int, set[int]] = {}
    for client, index in shares.items():
        trained.setdefault(groups[client], set()).update(np.unique(source.train.labels[index]).tolist())
    return {
        group: np.flatnonzero(np.isin(source.test.labels, sorted(classes))).astype(np.int64)
        for group, classes in trained.items()
    }
