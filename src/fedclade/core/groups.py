"""Groups: disjoint sets of clients that cover all of them."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from fedclade.core.errors import InputError
from fedclade.core.html import html_table, name_list
from fedclade.core.ids import ClientId


@dataclass(frozen=True)
class Groups:
    """Clients that belong together. Equal partitions are equal objects: members and groups are in sorted order."""

    members: tuple[tuple[ClientId, ...], ...]

    def __post_init__(self) -> None:
        ordered = tuple(sorted(tuple(sorted(group)) for group in self.members))
        group_by_client: dict[ClientId, int] = {}
        for number, group in enumerate(ordered):
            if not group:
                raise InputError("a group is empty", where="groups", need="at least one client in each group")
            for client in group:
                if client in group_by_client:
                    first = group_by_client[client]
                    twice = f"group {number} twice" if first == number else f"groups {first} and {number}"
                    raise InputError(f'client "{client}" is in {twice}', need="groups must be disjoint")
                group_by_client[client] = number
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
        """All clients, in sorted order."""
        return tuple(sorted(client for group in self.members for client in group))

    @property
    def labels(self) -> dict[ClientId, int]:
        """The number of each client's group."""
        return {client: number for number, group in enumerate(self.members) for client in group}

    def check_clients(self, clients: Iterable[ClientId]) -> "Groups":
        """These groups, or an error if they are not of exactly these clients."""
        wanted, have = set(clients), set(self.clients)
        if wanted != have:
            missing, unknown = sorted(wanted - have)[:3], sorted(have - wanted)[:3]
            got = f"without a group {missing}, unknown {unknown}"
            raise InputError("groups do not cover the clients", got=got, need="every client in exactly one group")
        return self

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        sizes = name_list([str(len(group)) for group in self.members])
        return f"Groups({len(self)} groups of {sizes} clients)"

    def _repr_html_(self) -> str:
        rows = [(str(number), str(len(group)), name_list(group)) for number, group in enumerate(self.members)]
        return html_table(f"{len(self)} groups", ("group", "clients", "members"), rows)
