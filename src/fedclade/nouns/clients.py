"""A client is known by the name that the application gave it: never by a position, never by an engine's node id."""

from collections.abc import Iterable
from typing import TypeAlias

from fedclade.nouns.errors import InputError

ClientId: TypeAlias = str

LONGEST_ID = 200  # characters


def checked_ids(ids: Iterable[ClientId], where: str) -> tuple[ClientId, ...]:
    """These ids in sorted order, or an error if one is not a usable name or stands there twice."""
    seen: set[ClientId] = set()
    for client in ids:
        if not isinstance(client, str):
            raise InputError("a client's id is not text", where=where, got=repr(client), need="a name, as str")
        if not 0 < len(client) <= LONGEST_ID or not client.isprintable() or client != client.strip():
            raise InputError(
                "a client's id is not a usable name",
                where=where,
                got=repr(client[: LONGEST_ID + 1]),
                need=f"1 to {LONGEST_ID} printable characters, no space around them",
            )
        if client in seen:
            raise InputError(f'client "{client}" is there twice', where=where, need="one entry for each client")
        seen.add(client)
    if not seen:
        raise InputError("there are no clients", where=where, got="0", need="at least 1")
    return tuple(sorted(seen))
