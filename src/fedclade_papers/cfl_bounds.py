"""What CFL's paper proves about cosine similarities, as functions; and the simulation behind its figure 3.

gamma is how far a client's gradient is from that of its own distribution, as a share of the latter's norm (equation
16). Theorem 1 assumes that it is below 1 for every client, and a stationary point of the common objective.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fedclade.clustering.bipartition import bipartition
from fedclade.clustering.distances import cosines
from fedclade.core import Groups, InputError, generator

DIMENSIONS = 100  # of figure 3
CLIENTS_EACH = 3  # of figure 3: M = 3 K


def min_cosine(gamma: float, other: float) -> float:
    """H_ij (equation 18): the least cosine of two clients of one distribution."""
    for each in (gamma, other):
        if not 0 <= each < 1:
            raise InputError("gamma is not usable", where="Theorem 1", got=str(each), need="from 0, under 1")
    return -gamma * other + math.sqrt(1 - gamma**2) * math.sqrt(1 - other**2)


def intra_bound(gammas: NDArray[np.float64]) -> float:
    """Equations 19 and 21: no two clients of one distribution, with these gammas, are less alike than this."""
    if not len(gammas):
        raise InputError("there is no gamma", where="Theorem 1", got="0", need="one for each client")
    two = np.sort(gammas)[-2:]  # the smallest H is that of the largest two
    return min_cosine(float(two[0]), float(two[-1]))


def cross_bound(least: float, distributions: int) -> float:
    """Equations 17 and 20: for H and K, some bipartition has no two clients across that are more alike than this."""
    if not -1 <= least <= 1:
        raise InputError("H is not a cosine", where="Theorem 1", got=str(least), need="from -1 to 1")
    angle = angle_of(distributions)
    if least < math.cos(angle):
        return 1.0
    return math.cos(angle) * least + math.sin(angle) * math.sqrt(1 - least**2)


def angle_of(distributions: int) -> float:
    """pi / (K - 1), the angle in equation 17."""
    if distributions < 2:
        raise InputError("there is nothing to part", where="Theorem 1", got=str(distributions), need="K from 2")
    return math.pi / (distributions - 1)


def largest_gamma(distributions: int) -> float:
    """Where the two bounds of Theorem 1 meet: below this gamma the bipartition is always right (Corollary 1).

    With sin(f) = gamma for everybody they are cos(2 f) and cos(pi / (K - 1) - 2 f), which meet at f = pi / (4 (K - 1)).
    """
    return math.sin(angle_of(distributions) / 4)


def share_correct(distributions: int, gamma: float, trials: int, seed: int = 0) -> float:
    """Figure 3: how often Algorithm 1 divides no group, for K random gradients that add to 0 and noise of size gamma.

    Three clients for each distribution, in 100 dimensions; gradients and noise are normally distributed, and the noise
    of a client is scaled to gamma times the norm of its distribution's gradient.
    """
    if distributions < 2:
        raise InputError("there is nothing to part", where="figure 3", got=str(distributions), need="K from 2")
    if trials < 1:
        raise InputError("too few trials", where="figure 3", got=str(trials), need="at least 1")
    group_by_client = {f"{number:03d}": number % distributions for number in range(CLIENTS_EACH * distributions)}
    labels = np.array(list(group_by_client.values()))
    right = 0
    for trial in range(trials):
        rng = generator(seed, "figure 3", distributions, repr(gamma), trial)
        risks = rng.standard_normal((distributions, DIMENSIONS))
        risks -= risks.mean(axis=0)  # a stationary point: equation 11
        noise = rng.standard_normal((len(labels), DIMENSIONS))
        noise *= gamma * np.linalg.norm(risks[labels], axis=1, keepdims=True) / np.linalg.norm(noise, axis=1)[:, None]
        found = bipartition(cosines(list(group_by_client), (risks[labels] + noise).astype(np.float32)))
        right += divides_no_group(found.parts[0], Groups.from_labels(group_by_client))
    return right / trials


def divides_no_group(part: tuple[str, ...], truth: Groups) -> bool:
    """Definition 1: every group is in this part as a whole, or not at all."""
    return all(len(set(group) & set(part)) in (0, len(group)) for group in truth.members)
