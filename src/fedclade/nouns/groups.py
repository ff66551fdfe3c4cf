"""Groups: disjoint sets of clients that cover all of them."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from fedclade.nouns.clients import ClientId
from fedclade.nouns.errors import InputError
from fedclade.nouns.html import html_table, some


@dataclass(frozen=True)
class Groups:
    """Who belongs with whom. Two equal partitions are equal objects: members and groups are kept in sorted order."""

    members: tuple[tuple[ClientId, ...], ...]

    def __post_init__(self) -> None:
        ordered = tuple(sorted(tuple(sorted(group)) for group in self.members))
        home: dict[ClientId, int] = {}
        for number, group in enumerate(ordered):
            if not group:
                raise InputError("a group is empty", where="groups", need="at least one client in each group")
            for client in group:
                if client in home:
                    twice = f"groups {home[client]} and {number}" if home[client] != number else f"group {number} twice"
                    raise InputError(f'client "{client}" is in {twice}', need="groups must be disjoint")
                home[client] = number
        object.__setattr__(self, "members", ordered)

    @classmethod
    def from_labels(cls, labels: Mapping[ClientId, Hashable]) -> "Groups":
        """Clients with the same label are one group."""
        together: dict[Hashable, list[ClientId]] = {}
        for client, label in labels.items():
            together.setdefault(label, []).append(client)
        return cls(tuple(tuple(group) for group in together.values()))

    @property
    def clients(self) -> tuple[ClientId, ...]:
        """Everybody, in sorted order."""
        return tuple(sorted(client for group in self.members for client in group))

    @property
    def labels(self) -> dict[ClientId, int]:
        """The number of each client's group."""
        return {client: number for number, group in enumerate(self.members) for client in group}

    def covering(self, clients: Iterable[ClientId]) -> "Groups":
        """These groups, or an error if they are not of exactly these clients."""
        wanted, have = set(clients), set(self.clients)
        if wanted != have:
            missing, unknown = sorted(wanted - have)[:3], sorted(have - wanted)[:3]
            raise InputError(
                "groups do not cover the clients",
                got=f"without a group {missing}, unknown {unknown}",
                need="every client in exactly one group",
            )
        return self

    def __len__(self) -> int:
        return len(self.members)

    def _repr_html_(self) -> str:
        rows = [(str(number), str(len(group)), some(group)) for number, group in enumerate(self.members)]
        return html_table(f"{len(self)} groups", ("group", "clients", "who"), rows)
