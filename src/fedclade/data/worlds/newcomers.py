"""A world that grows: some clients join after the start. Goes over any world.

`known`: they are drawn from all groups, and a client of each group is there from the start. `new`: a whole group joins
late.
"""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from fedclade.core import ClientId, InputError, generator, settings
from fedclade.data.federation import Federation


@settings
class Newcomers:
    """Some clients join at given rounds."""

    rounds: tuple[Annotated[int, Field(ge=1)], ...] = (5,)
    """When they join, shared out evenly."""
    share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Of the clients, with origin = "known"."""
    origin: Literal["known", "new"] = "known"
    """From all groups; or one whole group, whatever the share."""

    @property
    def last_round(self) -> int:
        return max(self.rounds, default=0)

    def apply(self, federation: Federation, seed: int) -> Federation:
        """The same federation, in which some clients join late."""
        if not self.rounds:
            raise InputError("newcomers have no round to join at", where="data.newcomers.rounds", need="at least one")
        order = generator(seed, "newcomers", "who").permutation(sorted(federation.clients)).tolist()
        pick = self.from_known_groups if self.origin == "known" else clients_of_one_group
        late = pick(federation, order)
        if not late:
            got = str(self.share)
            raise InputError(
                "no client is left to join late", where="data.newcomers.share", got=got, need="more clients"
            )
        joins = {client: self.rounds[number % len(self.rounds)] for number, client in enumerate(late)}
        return replace(federation, joins={**federation.joins, **joins})

    def from_known_groups(self, federation: Federation, order: list[ClientId]) -> list[ClientId]:
        """So many clients; the first of each group in the drawn order is there from the start."""
        label = federation.truth.labels if federation.truth is not None else dict.fromkeys(order, 0)
        stay = {label[client]: client for client in reversed(order)}
        wanted = max(1, round(self.share * len(order)))
        return [client for client in order if stay[label[client]] != client][:wanted]


def clients_of_one_group(federation: Federation, order: list[ClientId]) -> list[ClientId]:
    """All clients of one group: that of the first client in the drawn order."""
    if federation.truth is None or len(federation.truth) < 2:
        need = "a world with groups"
        raise InputError("there is no group that could be new", where="data.newcomers.origin", got='"new"', need=need)
    label = federation.truth.labels
    return [client for client in order if label[client] == label[order[0]]]
