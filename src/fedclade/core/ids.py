"""A client is known by the name that the application gave it: never by a position, never by an engine's node id."""

from collections.abc import Iterable
from typing import TypeAlias

from fedclade.core.errors import InputError

ClientId: TypeAlias = str

MAX_ID_LENGTH = 200  # characters


def checked_ids(ids: Iterable[ClientId], where: str) -> tuple[ClientId, ...]:
    """These ids in sorted order, or an error if one is not a usable name or stands there twice."""
    seen: set[ClientId] = set()
    for client in ids:
        if not isinstance(client, str):
            raise InputError("a client's id is not text", where=where, got=repr(client), need="a name, as str")
        if not 0 < len(client) <= MAX_ID_LENGTH or not client.isprintable() or client != client.strip():
            got, need = repr(client[: MAX_ID_LENGTH + 1]), f"1 to {MAX_ID_LENGTH} printable characters"
            raise InputError(
                "a client's id is not a usable name", where=where, got=got, need=f"{need}, no space around them"
            )
        if client in seen:
            raise InputError(f'client "{client}" is there twice', where=where, need="one entry for each client")
        seen.add(client)
    if not seen:
        raise InputError("there are no clients", where=where, got="0", need="at least 1")
    return tuple(sorted(seen))
