"""Participants, from scores or groups and from how often each client took part before.

ABC's paper asks that the mean score of the participants is close to that of all clients, with participants as different
as possible, and gives no rule for it. Ours: clients in the order of their scores are cut into as many strata of
near-equal size as there are participants to find; the least used of each stratum takes part; then swaps inside strata
bring the sum of scores near to its target.

Two things hold, whatever the scores. Strata alone keep the mean of the chosen within (1/K + K/4N) of the scores' range
from the mean of all, as long as no client waits; swaps only bring it nearer, and stop at `CLOSE`. And of the clients
that were there from the start, none takes part more than `SLACK` + 1 rounds more often than another, because a client
that is further ahead than `SLACK` waits. O(N log N + KN).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId

SLACK = 2  # rounds that a client may be ahead of the least used one and still be asked
CLOSE = 0.05  # of the scores' standard deviation: near enough to the mean of all
SWAPS = 2  # for each participant, at most

TimesUsed = Mapping[ClientId, int]
"""How often each client took part."""


def by_scores(
    scores: Mapping[ClientId, float], used: TimesUsed, count: int, rng: np.random.Generator
) -> tuple[ClientId, ...]:
    """Choose `count` clients with a mean score close to that of all, as different as possible, the least used first.

    Among the least used, clients with equal scores are equally likely.
    """
    clients = sorted(scores)
    count = min(count, len(clients))
    if not count:
        return ()
    score = np.array([scores[client] for client in clients], np.float64)
    times = np.array([used.get(client, 0) for client in clients], np.int64)
    tie = rng.permutation(len(clients))
    free = eligible_positions(times, tie, count)
    order = free[np.lexsort((tie[free], score[free]))]
    stratum = strata(len(order), count, rng)
    if count == 1:  # one stratum: only the least used, or the one in the middle would be asked again and again
        order = order[times[order] == times[order].min()]
        stratum = stratum[: len(order)]
    first = np.lexsort((tie[order], times[order], stratum))  # of each stratum the least used first
    begin = np.searchsorted(stratum[first], np.arange(count))
    picked = first[begin]
    may = times[order] <= times[order][picked][stratum] + 1
    target, tolerance = count * float(score.mean()), CLOSE * float(score.std()) * count
    chosen = swap_towards(target, tolerance, score[order], stratum, picked, may)
    return tuple(sorted(clients[place] for place in order[chosen]))


def by_groups(
    group: Mapping[ClientId, int], used: TimesUsed, count: int, rng: np.random.Generator
) -> tuple[ClientId, ...]:
    """Choose `count` clients: always one of the group that took part least for its size, and there the least used."""
    members = group_members(group)
    shares = participants_per_group(members, used, min(count, len(group)), rng)
    chosen = [least_used(own, used, share, rng) for own, share in zip(members, shares, strict=True)]
    return tuple(sorted(client for part in chosen for client in part))


def least_used(clients: Sequence[ClientId], used: TimesUsed, count: int, rng: np.random.Generator) -> list[ClientId]:
    """`count` of the least used clients; among equals at random."""
    times = np.array([used.get(client, 0) for client in clients], np.int64)
    order = np.lexsort((rng.permutation(len(clients)), times))
    return [clients[place] for place in order[:count]]


def participants_per_group(
    members: Sequence[Sequence[ClientId]], used: TimesUsed, count: int, rng: np.random.Generator
) -> list[int]:
    """How many of each group take part: one after the other from the group that took part least for its size."""
    sizes = np.array([len(own) for own in members], np.float64)
    times = np.array([sum(used.get(client, 0) for client in own) for own in members], np.float64)
    tie = rng.permutation(len(members))
    share = np.zeros(len(members), np.int64)
    for _ in range(count):
        rate = np.where(share < sizes, (times + share) / sizes, np.inf)
        share[np.lexsort((tie, rate))[0]] += 1
    return share.tolist()


def group_members(group: Mapping[ClientId, int]) -> list[list[ClientId]]:
    """The members of each group, in sorted order."""
    members: dict[int, list[ClientId]] = {}
    for client in sorted(group):
        members.setdefault(group[client], []).append(client)
    return [members[number] for number in sorted(members)]


def eligible_positions(times: NDArray[np.int64], tie: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Positions of clients not too far ahead of the least used; or the `count` least used if those are too few."""
    free = np.flatnonzero(times <= times.min() + SLACK)
    return free if len(free) >= count else np.sort(np.lexsort((tie, times))[:count])


def strata(length: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The stratum of each place in an order: `count` pieces of near-equal size, the larger ones at random."""
    sizes = np.full(count, length // count)
    sizes[rng.permutation(count)[: length % count]] += 1
    return np.repeat(np.arange(count), sizes)


def swap_towards(
    target: float,
    tolerance: float,
    score: NDArray[np.float64],
    stratum: NDArray[np.int64],
    picked: NDArray[np.int64],
    allowed: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """One place of each stratum, after the swaps that bring the sum of scores nearest to its target."""
    chosen = picked.copy()
    for _ in range(SWAPS * len(picked)):
        off = float(score[chosen].sum()) - target
        if abs(off) <= tolerance:
            break
        after = np.where(allowed, np.abs(off + score - score[chosen][stratum]), np.inf)
        best = int(after.argmin())
        if after[best] >= abs(off):
            break
        chosen[stratum[best]] = best
    return chosen
