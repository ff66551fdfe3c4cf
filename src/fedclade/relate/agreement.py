"""How far two partitions of the same clients agree: the adjusted Rand index, and which group is which."""

from collections.abc import Mapping

import numpy as np

from fedclade.nouns import ClientId, Groups


def adjusted_rand(one: Mapping[ClientId, int], other: Mapping[ClientId, int]) -> float:
    """scikit-learn's adjusted Rand index over the clients that both have: 1 for the same groups, about 0 for chance."""
    from sklearn.metrics import adjusted_rand_score

    both = sorted(set(one) & set(other))
    return float(adjusted_rand_score([one[client] for client in both], [other[client] for client in both]))


def matched_groups(found: Groups, planted: Groups) -> dict[int, int]:
    """The planted group of each found one, by number, so that most clients are in the right one.

    Each planted group is given away once; a found group that is left over has none.
    """
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((len(found), len(planted)), np.int64)
    home = planted.labels
    for client, number in found.labels.items():
        if client in home:
            shared[number, home[client]] += 1
    mine, theirs = linear_sum_assignment(shared, maximize=True)
    return {int(number): int(other) for number, other in zip(mine, theirs, strict=True) if shared[number, other]}


def misplaced(found: Groups, planted: Groups) -> tuple[ClientId, ...]:
    """The clients that are not in the found group which stands for their planted one."""
    match, home = matched_groups(found, planted), planted.labels
    return tuple(
        client for client, number in found.labels.items() if client in home and match.get(number, -1) != home[client]
    )
