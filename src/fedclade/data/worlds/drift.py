"""A world that changes: from a round on some clients hold other data. Goes over any world.

`group`: they change group. Pairs of clients from different groups exchange their data, so that no example is lost or
doubled. `rotate`: their images are turned by another quarter. `gain`: they gain classes; until then they lack half of
theirs, and stay in their group.
"""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedclade.data.examples import Part
from fedclade.data.federation import Change, ClientData, Federation
from fedclade.nouns import ClientId, Groups, InputError, generator, settings


@settings
class Drift:
    """Some clients' data change at a round."""

    round: Annotated[int, Field(ge=1)] = 10
    """The first round with the new data."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Of the clients; at least one, two where they exchange."""
    kind: Literal["group", "rotate", "gain"] = "group"

    @property
    def last(self) -> int:
        return self.round

    def over(self, federation: Federation, seed: int) -> Federation:
        """The same federation, with the change in it. Only who is there by then can change."""
        order = generator(seed, "drift", "who").permutation(federation.present(self.round)).tolist()
        wanted = max(1, round(self.share * len(order)))
        if self.kind == "gain":
            return gaining(federation, order, wanted, self.round, seed)
        return (exchanged if self.kind == "group" else turned)(federation, order, wanted, self.round)


def exchanged(federation: Federation, order: list[ClientId], wanted: int, number: int) -> Federation:
    """Pairs of clients from different groups exchange their data and their groups."""
    if federation.truth is None or len(federation.truth) < 2:
        raise InputError(
            "there are no groups to change between", where="data.drift.kind", got='"group"', need="a world with groups"
        )
    label = federation.truth.labels
    data: dict[ClientId, ClientData] = {}
    free = list(order)
    while len(data) < wanted and free:
        one = free.pop(0)
        other = next((client for client in free if label[client] != label[one]), None)
        if other is not None:
            free.remove(other)
            data[one], data[other] = federation[other], federation[one]
            label[one], label[other] = label[other], label[one]
    return with_change(federation, Change(number, data, Groups.from_labels(label)))


def turned(federation: Federation, order: list[ClientId], wanted: int, number: int) -> Federation:
    """These clients' images are turned by a quarter.

    Those of one group that turn are a group of their own; unless groups are told apart by their turns, as in the world
    `rotation`: there they join the group that is turned as they are now.
    """
    if len(federation.shape) < 2 or federation.shape[-1] != federation.shape[-2]:
        raise InputError(
            "only square images can be turned",
            where="data.drift.kind",
            got=f"inputs {federation.shape}",
            need="(..., n, n)",
        )
    chosen = set(order[:wanted])

    def turn(part: Part) -> Part:
        return replace(part, quarter_turns=(part.quarter_turns + 1) % 4)

    data = {
        client: ClientData(turn(federation[client].train), turn(federation[client].test)) for client in sorted(chosen)
    }
    truth = None
    if federation.truth is not None:
        turns = {client: federation[client].train.quarter_turns for client in federation.clients}
        of_groups = [{turns[client] for client in members} for members in federation.truth.members]
        told_by_turns = len(of_groups) == len(set().union(*of_groups)) > 1
        truth = Groups.from_labels(
            {
                client: (0 if told_by_turns else group, (turns[client] + (client in chosen)) % 4)
                for client, group in federation.truth.labels.items()
            }
        )
    return with_change(federation, Change(number, data, truth))


def gaining(federation: Federation, order: list[ClientId], wanted: int, number: int, seed: int) -> Federation:
    """Until the change these clients lack half of their classes; from then on they have all."""
    before: dict[ClientId, ClientData] = {}
    for client in order:
        held = federation[client]
        both = np.intersect1d(held.train.labels, held.test.labels)  # classes that can be learned and tested
        if len(before) < wanted and len(both) >= 2:
            kept = generator(seed, "drift", "kept", client).permutation(both)[: len(both) // 2]
            before[client] = ClientData(of_classes(held.train, kept), of_classes(held.test, kept))
    if not before:
        raise InputError(
            "nobody has two classes to gain one of",
            where="data.drift.kind",
            got='"gain"',
            need="clients with two classes",
        )
    after = {client: federation[client] for client in sorted(before)}
    smaller = replace(federation, data={**federation.data, **before})
    return with_change(smaller, Change(number, after, federation.truth))


def of_classes(part: Part, classes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Part:
    """The examples of these classes only."""
    return replace(part, index=part.index[np.isin(part.labels, classes)])


def with_change(federation: Federation, change: Change) -> Federation:
    """The federation with one more change, in the order of the rounds."""
    return replace(federation, changes=tuple(sorted((*federation.changes, change), key=lambda each: each.round)))
