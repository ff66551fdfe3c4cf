"""Cutting examples and clients into shares, exactly and by a seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.data.examples import Index
from fedclade.nouns import ClientId, InputError, generator


def named(clients: int) -> tuple[ClientId, ...]:
    """`client-00`, `client-01`, ...: as many digits as the last one needs, at least two."""
    digits = max(2, len(str(clients - 1)))
    return tuple(f"client-{number:0{digits}d}" for number in range(clients))


def apportioned(total: int, weights: Sequence[float] | NDArray[np.float64], least: int = 0) -> NDArray[np.int64]:
    """Whole numbers in these proportions that add up to the total, the largest remainders rounded up.

    Who would have fewer than `least` gets so many, from the largest; the total must be enough for that.
    """
    shares = np.asarray(weights, np.float64)
    exact = shares / shares.sum() * total
    whole: NDArray[np.int64] = np.floor(exact + 1e-9).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: total - int(whole.sum())]] += 1
    for poor in np.flatnonzero(whole < least):
        while whole[poor] < least:
            whole[int(whole.argmax())] -= 1
            whole[poor] += 1
    return whole


def planted(
    clients: Sequence[ClientId], groups: int, sizes: Sequence[int], rng: np.random.Generator
) -> dict[ClientId, int]:
    """A group for each client, in these proportions (none: alike); names tell nothing of the group."""
    if groups > len(clients):
        raise InputError(
            "more groups than clients", where="data.groups", got=str(groups), need=f"at most {len(clients)}"
        )
    if sizes and len(sizes) != groups:
        raise InputError(
            "group sizes do not fit the groups", where="data.group_sizes", got=f"{len(sizes)} sizes", need=f"{groups}"
        )
    counts = apportioned(len(clients), sizes or [1.0] * groups, least=1)
    numbers = rng.permutation(np.repeat(np.arange(groups), counts))
    return {client: int(number) for client, number in zip(clients, numbers, strict=True)}


def dealt(index: Index, shares: int, rng: np.random.Generator) -> list[Index]:
    """The positions in random order, in shares whose sizes differ by one at the most; every position once."""
    return [np.sort(share) for share in np.array_split(rng.permutation(index), shares)]


def equal_shares(index: Index, shares: int, most: int, rng: np.random.Generator) -> list[Index]:
    """The positions in random order, in shares of exactly the same size, at most `most`; the rest stays unused."""
    size = min(len(index) // shares, most)
    shuffled = rng.permutation(index)
    return [np.sort(shuffled[number * size : (number + 1) * size]) for number in range(shares)]


def split(index: Index, labels: NDArray[np.int64], test: float, key: tuple[int | str, ...]) -> tuple[Index, Index]:
    """The positions in two parts, to learn from and to be tested on: a share for testing, at least one in each.

    One example of every class is learned from, so that nobody is tested on a class it never saw; where every class has
    one example only, one of them is tested on all the same.
    """
    order = generator(*key).permutation(index)
    first = np.zeros(len(order), bool)
    first[np.unique(labels[order], return_index=True)[1]] = True
    free = order[~first]
    wanted = min(max(round(test * len(index)), 1), len(index) - 1)
    tested = free[:wanted] if len(free) else order[:1]
    return np.setdiff1d(index, tested), np.sort(tested)


def cut(index: Index, sizes: Sequence[int] | NDArray[np.int64], rng: np.random.Generator) -> list[Index]:
    """The positions in random order, in shares of these sizes."""
    return [np.sort(share) for share in np.split(rng.permutation(index), np.cumsum(sizes))[: len(sizes)]]


def skewed(labels: NDArray[np.int64], shares: int, alpha: float, rng: np.random.Generator) -> list[Index]:
    """Every position once, in shares with Dirichlet(alpha) proportions of each class; nobody has fewer than two.

    The smaller alpha, the more one-sided the shares. Whoever gets too little takes from the largest share.
    """
    owner = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        positions = rng.permutation(np.flatnonzero(labels == label))
        proportions = rng.dirichlet(np.full(shares, alpha)) if shares > 1 else np.ones(1)
        usable = np.nan_to_num(proportions) + 1e-12  # a very small alpha underflows to nothing at all
        owner[positions] = np.repeat(np.arange(shares), apportioned(len(positions), usable))
    counts = np.bincount(owner, minlength=shares)
    for poor in np.flatnonzero(counts < 2):
        while counts[poor] < 2:
            rich = int(counts.argmax())
            owner[np.flatnonzero(owner == rich)[-1]] = poor
            counts[rich] -= 1
            counts[poor] += 1
    order = np.argsort(owner, kind="stable")
    return np.split(order, np.cumsum(counts)[:-1])
