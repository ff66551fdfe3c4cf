"""What is beyond noise: intervals and tests over clients, at one level everywhere.

Clients are the sample: an interval says how the number would vary with other clients of the same kind, and a difference
of two methods is judged by the differences of the same clients. A number over clients that is not their plain mean
(the root of a mean of squares) is turned into a mean of pseudo-values first: what each client adds to it, by leaving
one out (Tukey, 1958). That the same method trained again gives another model is seen only with several seeds.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95  # of every interval; a difference is beyond noise where chance gives it in one of twenty cases at most
ALPHA = 1 - LEVEL
Floats = NDArray[np.float64]


def over_clients(kind: str, values: Floats, examples: NDArray[np.int64]) -> float:
    """The main metric of a task over clients: of shares the plain mean; else that of all their examples."""
    if kind in SHARE_TASKS:
        return float(values.mean())
    powers = values**2 if kind == "regression" else values
    mean = float(powers @ examples) / float(examples.sum())
    return math.sqrt(mean) if kind == "regression" else mean


SHARE_TASKS = ("classification", "multi-label", "next-word")  # whose main metric is an accuracy


def pseudo_values(kind: str, values: Floats, examples: NDArray[np.int64]) -> Floats:
    """(clients,): numbers of which the mean is, but for a small bias, the main metric over clients."""
    count = len(values)
    if kind in SHARE_TASKS or count < 2:
        return values
    powers = values**2 if kind == "regression" else values
    sums = powers @ examples - powers * examples
    without = sums / (examples.sum() - examples)
    without = np.sqrt(np.maximum(without, 0.0)) if kind == "regression" else without
    return np.asarray(count * over_clients(kind, values, examples) - (count - 1) * without)


def half_width(sample: Floats) -> float | None:
    """Of the t interval of the mean, to both sides; None of fewer than two."""
    from scipy.special import stdtrit

    if len(sample) < 2:
        return None
    return float(stdtrit(len(sample) - 1, (1 + LEVEL) / 2) * sample.std(ddof=1) / math.sqrt(len(sample)))


def paired_p(differences: Floats) -> float:
    """Of the paired t test, two-sided: how probable a mean so far from 0 is by chance; 1 of fewer than two.

    Where all differences are the same, and not 0, that of the sign test: a spread of none is chance, too.
    """
    from scipy.special import stdtr

    count = len(differences)
    if count < 2 or not differences.any():
        return 1.0
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    mean = abs(float(differences.mean()))
    if error <= 1e-12 * mean:
        return min(1.0, 2.0 ** (1 - count))
    return min(1.0, 2 * float(stdtr(count - 1, -mean / error)))


def holm(p_values: Sequence[float]) -> list[float]:
    """The same, corrected for how many they are (Holm, 1979)."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return [float(each) for each in corrected]


def false_discovery(p_values: Floats) -> Floats:
    """The same, corrected so that of those under ALPHA at most this share is chance (Benjamini and Hochberg, 1995)."""
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")[::-1]
    corrected = np.empty(count)
    scaled = p_values[order] * count / np.arange(count, 0, -1)
    corrected[order] = np.minimum(1.0, np.minimum.accumulate(scaled)) if count else scaled
    return corrected


def fewer_right_p(right: NDArray[np.int64], other: NDArray[np.int64], examples: NDArray[np.int64]) -> Floats:
    """Of Fisher's exact test: how probable it is that so few or fewer are right by chance, of as many examples each."""
    from scipy.stats import hypergeom

    return np.asarray(hypergeom.cdf(right, 2 * examples, right + other, examples), np.float64)


def worse_p(worse_by: Floats, errors: Floats, other_errors: Floats, examples: NDArray[np.int64]) -> Floats:
    """Of a t test with the standard errors of both means: how probable it is to be worse by so much by chance.

    Never less than 1 of all ways to divide both samples in two: no test of these could be surer.
    """
    from scipy.special import gammaln, stdtr

    error = np.sqrt(errors**2 + other_errors**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(2 * examples - 2, -worse_by / error)
    p = np.where(error > 0, p, np.where(worse_by > 0, 0.0, 1.0))
    ways = gammaln(2 * examples + 1) - 2 * gammaln(examples + 1)
    return np.asarray(np.maximum(p, np.exp(-ways)), np.float64)


def trend_p(values: Floats) -> tuple[float, float]:
    """By how much values rise from the first to the last by a straight line, and how probable that is by chance."""
    from scipy.special import stdtr

    count = len(values)
    if count < 3:
        return 0.0, 1.0
    places = np.arange(count) - (count - 1) / 2
    slope = float(places @ values) / float(places @ places)
    left = values - values.mean() - slope * places
    error = math.sqrt(float(left @ left) / (count - 2) / float(places @ places))
    rise = slope * (count - 1)
    if error <= 1e-12 * abs(slope):
        return rise, 1.0 if slope == 0 else 0.0
    return rise, min(1.0, 2 * float(stdtr(count - 2, -abs(slope) / error)))
