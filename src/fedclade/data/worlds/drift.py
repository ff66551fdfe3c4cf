"""A world that changes: from a round on some clients hold other data. Goes over any world.

`group`: they change group. Pairs of clients from different groups exchange their data, so that no example is lost or
doubled. `rotate`: their images are turned by another quarter. `gain`: they gain classes; until then they lack half of
theirs, and stay in their group.
"""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedclade.core import ClientId, Groups, InputError, generator, settings
from fedclade.data.examples import Part
from fedclade.data.federation import Change, ClientData, Federation
from fedclade.data.worlds.spread import check_square


@settings
class Drift:
    """Some clients' data change at a round."""

    round: Annotated[int, Field(ge=1)] = 10
    """The first round with the new data."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Of the clients; at least one, two where they exchange."""
    kind: Literal["group", "rotate", "gain"] = "group"
    """Pairs of clients exchange their data; images turn by a quarter; or clients gain the classes that they lacked."""

    @property
    def last_round(self) -> int:
        return self.round

    def apply(self, federation: Federation, seed: int) -> Federation:
        """The same federation, with the change in it. Only clients that are there by then can change."""
        order = generator(seed, "drift", "who").permutation(federation.clients_at(self.round)).tolist()
        wanted = max(1, round(self.share * len(order)))
        if self.kind == "gain":
            return gain_classes(federation, order, wanted, self.round, seed)
        return (exchange_groups if self.kind == "group" else turn_images)(federation, order, wanted, self.round)


def exchange_groups(federation: Federation, order: list[ClientId], wanted: int, number: int) -> Federation:
    """Pairs of clients from different groups exchange their data and their groups."""
    if federation.truth is None or len(federation.truth) < 2:
        need = "a world with groups"
        raise InputError("there are no groups to change between", where="data.drift.kind", got='"group"', need=need)
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


def turn_images(federation: Federation, order: list[ClientId], wanted: int, number: int) -> Federation:
    """These clients' images are turned by a quarter.

    Those of one group that turn are a group of their own. Where groups differ by their turns, as in the world
    `rotation`, they join the group that is turned as they are now.
    """
    check_square(federation.shape, "data.drift.kind")
    chosen = set(order[:wanted])

    def turn(part: Part) -> Part:
        return replace(part, quarter_turns=(part.quarter_turns + 1) % 4)

    held = {client: federation[client] for client in sorted(chosen)}
    data = {client: ClientData(turn(each.train), turn(each.test)) for client, each in held.items()}
    truth = None
    if federation.truth is not None:
        turns = {client: federation[client].train.quarter_turns for client in federation.clients}
        of_groups = [{turns[client] for client in members} for members in federation.truth.members]
        groups_differ_by_turn = len(of_groups) == len(set().union(*of_groups)) > 1
        labels = federation.truth.labels if not groups_differ_by_turn else dict.fromkeys(turns, 0)
        turned = {client: (group, (turns[client] + (client in chosen)) % 4) for client, group in labels.items()}
        truth = Groups.from_labels(turned)
    return with_change(federation, Change(number, data, truth))


def gain_classes(federation: Federation, order: list[ClientId], wanted: int, number: int, seed: int) -> Federation:
    """Until the change these clients lack half of their classes; from then on they have all."""
    before: dict[ClientId, ClientData] = {}
    for client in order:
        held = federation[client]
        both = np.intersect1d(held.train.labels, held.test.labels)  # classes that can be learned and tested
        if len(before) < wanted and len(both) >= 2:
            kept = generator(seed, "drift", "kept", client).permutation(both)[: len(both) // 2]
            before[client] = ClientData(select_classes(held.train, kept), select_classes(held.test, kept))
    if not before:
        need = "clients with two classes"
        raise InputError("no client has two classes to gain one of", where="data.drift.kind", got='"gain"', need=need)
    after = {client: federation[client] for client in sorted(before)}
    smaller = replace(federation, data={**federation.data, **before})
    return with_change(smaller, Change(number, after, federation.truth))


def select_classes(part: Part, classes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Part:
    """The examples of these classes only."""
    return replace(part, index=part.index[np.isin(part.labels, classes)])


def with_change(federation: Federation, change: Change) -> Federation:
    """The federation with one more change, in the order of the rounds."""
    return replace(federation, changes=tuple(sorted((*federation.changes, change), key=lambda each: each.round)))
