"""Who takes part: from scores or groups, and from who took part before, to participants.

ABC's paper asks that the mean score of the participants is close to that of all clients, with participants as different
as can be; how, it does not say. Ours: clients in the order of their scores are cut into as many strata of near-equal
size as there are participants to find; the least used of each stratum takes part; then swaps inside strata bring the
sum of scores to where it belongs.

Two things hold, whatever the scores. Strata alone keep the mean of the chosen within (1/K + K/4N) of the scores' range
from the mean of all, as long as nobody waits; swaps only bring it nearer, and stop at `CLOSE`. And among clients who
were there from the start, nobody takes part more than `SLACK` + 1 rounds more often than another, because who is
further ahead than `SLACK` waits. O(N log N + KN).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId

SLACK = 2  # rounds that a client may be ahead of the least used one and still be asked
CLOSE = 0.05  # of the scores' standard deviation: near enough to the mean of all
SWAPS = 2  # for each participant, at the most

Used = Mapping[ClientId, int]
"""How often each client took part."""


def by_scores(
    scores: Mapping[ClientId, float], used: Used, count: int, chance: np.random.Generator
) -> tuple[ClientId, ...]:
    """So many clients whose mean score is close to that of all, as different as can be, the least used first.

    Equal scores: each is as likely as another, among the least used.
    """
    clients = sorted(scores)
    count = min(count, len(clients))
    if not count:
        return ()
    score = np.array([scores[client] for client in clients], np.float64)
    times = np.array([used.get(client, 0) for client in clients], np.int64)
    tie = chance.permutation(len(clients))
    free = not_ahead(times, tie, count)
    order = free[np.lexsort((tie[free], score[free]))]
    stratum = strata(len(order), count, chance)
    if count == 1:  # one stratum: only the least used, or the one in the middle would be asked again and again
        order = order[times[order] == times[order].min()]
        stratum = stratum[: len(order)]
    first = np.lexsort((tie[order], times[order], stratum))  # of each stratum the least used first
    begin = np.searchsorted(stratum[first], np.arange(count))
    picked = first[begin]
    may = times[order] <= times[order][picked][stratum] + 1
    chosen = swapped(score[order], stratum, picked, may, count * float(score.mean()), CLOSE * float(score.std()))
    return tuple(sorted(clients[place] for place in order[chosen]))


def by_groups(
    group: Mapping[ClientId, int], used: Used, count: int, chance: np.random.Generator
) -> tuple[ClientId, ...]:
    """So many clients: always one of the group that took part least for its size, and there the least used."""
    members = grouped(group)
    share = allotted(members, used, min(count, len(group)), chance)
    return tuple(
        sorted(each for own, some in zip(members, share, strict=True) for each in least(own, used, some, chance))
    )


def least(clients: Sequence[ClientId], used: Used, count: int, chance: np.random.Generator) -> list[ClientId]:
    """So many of the least used; among equals by chance."""
    times = np.array([used.get(client, 0) for client in clients], np.int64)
    order = np.lexsort((chance.permutation(len(clients)), times))
    return [clients[place] for place in order[:count]]


def allotted(members: Sequence[Sequence[ClientId]], used: Used, count: int, chance: np.random.Generator) -> list[int]:
    """How many of each group take part: one after the other from the group that took part least for its size."""
    sizes = np.array([len(own) for own in members], np.float64)
    times = np.array([sum(used.get(client, 0) for client in own) for own in members], np.float64)
    tie = chance.permutation(len(members))
    share = np.zeros(len(members), np.int64)
    for _ in range(count):
        rate = np.where(share < sizes, (times + share) / sizes, np.inf)
        share[np.lexsort((tie, rate))[0]] += 1
    return share.tolist()


def grouped(group: Mapping[ClientId, int]) -> list[list[ClientId]]:
    """The members of each group, in sorted order."""
    members: dict[int, list[ClientId]] = {}
    for client in sorted(group):
        members.setdefault(group[client], []).append(client)
    return [members[number] for number in sorted(members)]


def not_ahead(times: NDArray[np.int64], tie: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Positions of those who may be asked: not far ahead of the least used, or the least used if those are too few."""
    free = np.flatnonzero(times <= times.min() + SLACK)
    return free if len(free) >= count else np.sort(np.lexsort((tie, times))[:count])


def strata(length: int, count: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """The stratum of each place in an order: `count` pieces of near-equal size, the larger ones by chance."""
    sizes = np.full(count, length // count)
    sizes[chance.permutation(count)[: length % count]] += 1
    return np.repeat(np.arange(count), sizes)


def swapped(
    score: NDArray[np.float64],
    stratum: NDArray[np.int64],
    picked: NDArray[np.int64],
    may: NDArray[np.bool_],
    wanted: float,
    near: float,
) -> NDArray[np.int64]:
    """One place of each stratum, after the swaps that bring the sum of scores nearest to what is wanted."""
    chosen = picked.copy()
    for _ in range(SWAPS * len(picked)):
        off = float(score[chosen].sum()) - wanted
        if abs(off) <= near * len(picked):
            break
        after = np.where(may, np.abs(off + score - score[chosen][stratum]), np.inf)
        best = int(after.argmin())
        if after[best] >= abs(off):
            break
        chosen[stratum[best]] = best
    return chosen
