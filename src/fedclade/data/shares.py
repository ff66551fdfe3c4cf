"""Cutting examples and clients into shares, exactly and by a seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError, generator
from fedclade.core.task import Labels
from fedclade.data.examples import Index


def client_names(clients: int) -> tuple[ClientId, ...]:
    """`client-00`, `client-01`, ...: as many digits as the last one needs, at least two."""
    digits = max(2, len(str(clients - 1)))
    return tuple(f"client-{number:0{digits}d}" for number in range(clients))


def apportion(total: int, weights: Sequence[float] | NDArray[np.float64], minimum: int = 0) -> NDArray[np.int64]:
    """Whole numbers in these proportions that add up to the total, the largest remainders rounded up.

    A share below `minimum` is filled up from the largest one; the total must be enough for that.
    """
    shares = np.asarray(weights, np.float64)
    exact = shares / shares.sum() * total
    whole: NDArray[np.int64] = np.floor(exact + 1e-9).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: total - int(whole.sum())]] += 1
    for poor in np.flatnonzero(whole < minimum):
        while whole[poor] < minimum:
            whole[int(whole.argmax())] -= 1
            whole[poor] += 1
    return whole


def plant_groups(
    clients: int, groups: int, sizes: Sequence[int], rng: np.random.Generator
) -> list[tuple[ClientId, ...]]:
    """The clients of each group, in these proportions (none: alike); a client's name does not depend on its group."""
    if groups > clients:
        got = str(groups)
        raise InputError("more groups than clients", where="data.groups", got=got, need=f"at most {clients}")
    if sizes and len(sizes) != groups:
        got = f"{len(sizes)} sizes"
        raise InputError("group sizes do not fit the groups", where="data.group_sizes", got=got, need=f"{groups}")
    counts = apportion(clients, sizes or [1.0] * groups, minimum=1)
    numbers = rng.permutation(np.repeat(np.arange(groups), counts))
    named = [*zip(client_names(clients), numbers, strict=True)]
    return [tuple(client for client, number in named if number == group) for group in range(groups)]


def deal(index: Index, shares: int, rng: np.random.Generator) -> list[Index]:
    """The positions in random order, in shares with sizes that differ by one at most; every position once."""
    return [np.sort(share) for share in np.array_split(rng.permutation(index), shares)]


def strata(labels: Labels) -> NDArray[np.int64]:
    """The class of each example for a split: of several flags the rarest that it has; of numbers there are none."""
    if labels.dtype == np.int64:
        classes: NDArray[np.int64] = labels
        return classes
    if labels.ndim == 1:
        return np.zeros(len(labels), np.int64)
    counts = labels.sum(axis=0, dtype=np.int64)
    rarest: NDArray[np.int64] = np.where(labels > 0, counts, len(labels) + 1).argmin(axis=1)
    return np.where(labels.any(axis=1), rarest, labels.shape[1])


def split(index: Index, labels: Labels, test: float, key: tuple[int | str, ...]) -> tuple[Index, Index]:
    """The positions in two parts, to learn from and to be tested on: a share for testing, at least one in each.

    Labels are those of the pool. One example of every class is learned from, so that no client is tested on a class
    that it never saw; where every class has one example only, one of them is tested on all the same.
    """
    order = generator(*key).permutation(index)
    first = np.zeros(len(order), bool)
    first[np.unique(strata(labels[order]), return_index=True)[1]] = True
    free = order[~first]
    wanted = min(max(round(test * len(index)), 1), len(index) - 1)
    tested = free[:wanted] if len(free) else order[:1]
    return np.setdiff1d(index, tested), np.sort(tested)


def cut(index: Index, sizes: Sequence[int] | NDArray[np.int64], rng: np.random.Generator) -> list[Index]:
    """The positions in random order, in shares of these sizes."""
    return [np.sort(share) for share in np.split(rng.permutation(index), np.cumsum(sizes))[: len(sizes)]]


def dirichlet_shares(labels: NDArray[np.int64], shares: int, alpha: float, rng: np.random.Generator) -> list[Index]:
    """Every position once, in shares with Dirichlet(alpha) proportions of each class, at least two in each.

    The smaller alpha, the more one-sided the shares. A share that is too small takes from the largest one.
    """
    owner = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        positions = rng.permutation(np.flatnonzero(labels == label))
        proportions = rng.dirichlet(np.full(shares, alpha)) if shares > 1 else np.ones(1)
        usable = np.nan_to_num(proportions) + 1e-12  # a very small alpha underflows to nothing at all
        owner[positions] = np.repeat(np.arange(shares), apportion(len(positions), usable))
    counts = np.bincount(owner, minlength=shares)
    for poor in np.flatnonzero(counts < 2):
        while counts[poor] < 2:
            rich = int(counts.argmax())
            owner[np.flatnonzero(owner == rich)[-1]] = poor
            counts[rich] -= 1
            counts[poor] += 1
    order = np.argsort(owner, kind="stable")
    return np.split(order, np.cumsum(counts)[:-1])
