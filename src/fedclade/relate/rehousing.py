"""Which model a client goes on with when groups have changed. Row 0 is the model of all."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from fedclade.nouns import Assignment, ClientId, Row

NOBODY = -1  # the group of a client that is unlike anybody and has the model of all


def overall(models: Assignment) -> Row:
    """The model of all: the mean of the others, each as often as clients have it; row 0 if nobody has another."""
    sizes = np.bincount(list(models.home.values()), minlength=len(models.rows)).astype(np.float64)
    sizes[0] = 0
    if not sizes.any():
        return np.array(models.rows[0])
    mean: Row = (sizes[1:] / sizes.sum() @ models.rows[1:].astype(np.float64)).astype(np.float32)
    return mean


def inherited(models: Assignment, home: Mapping[ClientId, int]) -> Assignment:
    """These clients at these new rows: each goes on from the model that most of its clients have had.

    Of equals the first. Row 0 stays what it is.
    """
    before: dict[int, Counter[int]] = {}
    for client, row in sorted(home.items()):
        before.setdefault(row, Counter())[models.home[client]] += 1
    count = max(before, default=0) + 1
    origin = [0] + [most_common(before[row]) if row in before else 0 for row in range(1, count)]
    return Assignment(np.array(models.rows[origin]), home)


def followers(old: Mapping[ClientId, int], new: Mapping[ClientId, int]) -> dict[ClientId, int]:
    """Where those who have no new group go: with most of their old group; who has none of them left is not there.

    Who was like nobody has nobody to follow.
    """
    went: dict[int, Counter[int]] = {}
    for client, group in new.items():
        if old.get(client, NOBODY) != NOBODY:
            went.setdefault(old[client], Counter())[group] += 1
    return {client: most_common(went[group]) for client, group in old.items() if client not in new and group in went}


def most_common(counts: "Counter[int]") -> int:
    """The most frequent number; of equals the smallest."""
    return min(counts, key=lambda number: (-counts[number], number))


def usual_row(models: Assignment, clients: Iterable[ClientId]) -> int:
    """The row that most of these clients have; 0 if there are none."""
    counts = Counter(models.home[client] for client in clients)
    return most_common(counts) if counts else 0
