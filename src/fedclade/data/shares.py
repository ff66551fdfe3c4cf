"""Cutting examples and clients into shares, exactly and by a seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.data.federation import ClientData, Part, Pool
from fedclade.nouns import ClientId, InputError, generator

Index = NDArray[np.int64]


def named(clients: int) -> tuple[ClientId, ...]:
    """`client-00`, `client-01`, ...: as many digits as the last one needs, at least two."""
    digits = max(2, len(str(clients - 1)))
    return tuple(f"client-{number:0{digits}d}" for number in range(clients))


def planted(clients: Sequence[ClientId], groups: int, rng: np.random.Generator) -> dict[ClientId, int]:
    """A group for each client: sizes differ by one at the most, and names tell nothing."""
    if groups > len(clients):
        raise InputError(
            "more groups than clients", where="data.groups", got=str(groups), need=f"at most {len(clients)}"
        )
    numbers = rng.permutation(np.arange(len(clients)) % groups)
    return {client: int(number) for client, number in zip(clients, numbers, strict=True)}


def dealt(index: Index, shares: int, rng: np.random.Generator) -> list[Index]:
    """The positions in random order, in shares whose sizes differ by one at the most; every position once."""
    return [np.sort(share) for share in np.array_split(rng.permutation(index), shares)]


def equal_shares(index: Index, shares: int, rng: np.random.Generator) -> list[Index]:
    """The positions in random order, in shares of exactly the same size; what is left over stays unused."""
    size = len(index) // shares
    shuffled = rng.permutation(index)
    return [np.sort(shuffled[number * size : (number + 1) * size]) for number in range(shares)]


def dealt_to(
    clients: Sequence[ClientId], pool: Pool, test: float, key: tuple[int | str, ...]
) -> dict[ClientId, ClientData]:
    """The whole pool dealt at random: every example to one client, sizes differ by one at the most."""
    shares = dealt(np.arange(len(pool.labels)), len(clients), generator(*key, "deal"))
    return {
        client: held_out(pool, share, test, (*key, "test", client))
        for client, share in zip(clients, shares, strict=True)
    }


def held_out(pool: Pool, index: Index, test: float, key: tuple[int | str, ...]) -> ClientData:
    """A client's examples in two parts: a share for testing, at least one example in each."""
    if len(index) < 2:
        raise InputError(
            "too few examples for the clients",
            where=f"client {key[-1]}",
            got=f"{len(index)} for one client",
            need="at least 2 each",
            do="ask for fewer clients",
        )
    tested = min(max(round(test * len(index)), 1), len(index) - 1)
    order = generator(*key).permutation(index)
    return ClientData(train=Part(pool, np.sort(order[tested:])), test=Part(pool, np.sort(order[:tested])))
