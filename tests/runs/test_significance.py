"""Intervals and tests over clients, against SciPy's own."""

import numpy as np
import pytest
from scipy import stats

from fedclade.runs.significance import (
    false_discovery,
    fewer_right_p,
    half_width,
    holm,
    over_clients,
    paired_p,
    pseudo_values,
    trend_p,
    worse_p,
)

RNG = np.random.default_rng(0)


def test_a_paired_test_is_scipys() -> None:
    one, other = RNG.normal(size=12), RNG.normal(0.4, 1, 12)
    assert paired_p(one - other) == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert paired_p(np.zeros(9)) == paired_p(np.array([0.3])) == paired_p(np.zeros(0)) == 1.0
    assert paired_p(np.full(6, 0.1)) == pytest.approx(2 / 2**6)  # all on one side, by the same: the sign test


def test_an_interval_is_scipys() -> None:
    sample = RNG.normal(size=9)
    low, high = stats.t.interval(0.95, 8, sample.mean(), stats.sem(sample))
    assert half_width(sample) == pytest.approx((high - low) / 2)
    assert half_width(sample[:1]) is None


def test_corrections_for_many() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])  # 3 * 0.01; then 2 * 0.03; then no less
    assert holm([]) == []
    p = RNG.random(50) ** 3
    assert false_discovery(p) == pytest.approx(stats.false_discovery_control(p))
    assert false_discovery(np.zeros(0)).tolist() == []


def test_fewer_right_ones_are_fishers() -> None:
    right, other, examples = np.array([3, 9, 0]), np.array([9, 3, 2]), np.array([10, 10, 2])
    wanted = [
        stats.fisher_exact([[one, many - one], [two, many - two]], "less").pvalue
        for one, two, many in zip(right, other, examples, strict=True)
    ]
    assert fewer_right_p(right, other, examples) == pytest.approx(wanted)


def test_worse_means_are_those_of_a_t_test() -> None:
    one, other = RNG.normal(1, 1, 40), RNG.normal(0, 1, 40)
    errors = (np.array([stats.sem(one)]), np.array([stats.sem(other)]))
    found = worse_p(np.array([one.mean() - other.mean()]), *errors, np.array([40]))
    assert found == pytest.approx(stats.ttest_ind(one, other, alternative="greater").pvalue)
    # Two examples each, without any spread: one of the six ways to divide four in two.
    assert worse_p(np.array([1.0]), np.zeros(1), np.zeros(1), np.array([2])) == pytest.approx(1 / 6)


def test_a_root_of_a_mean_of_squares_is_a_mean_of_pseudo_values() -> None:
    """By leaving out each of the clients, as a loop; the interval is that of their mean."""
    values, examples = RNG.uniform(1, 3, 7), RNG.integers(5, 50, 7)
    whole = np.sqrt((values**2 * examples).sum() / examples.sum())
    assert over_clients("regression", values, examples) == pytest.approx(whole)
    wanted = []
    for client in range(7):
        kept = np.arange(7) != client
        left = np.sqrt((values[kept] ** 2 * examples[kept]).sum() / examples[kept].sum())
        wanted.append(7 * whole - 6 * left)
    assert pseudo_values("regression", values, examples) == pytest.approx(wanted)
    assert over_clients("reconstruction", values, examples) == pytest.approx(np.average(values, weights=examples))
    assert pseudo_values("classification", values, examples).tolist() == values.tolist()


def test_a_trend_is_that_of_a_straight_line() -> None:
    values = np.array([1.0, 2.5, 2.0, 4.0, 4.5])
    line = stats.linregress(np.arange(5), values)
    assert trend_p(values) == pytest.approx((4 * line.slope, line.pvalue))
    assert trend_p(np.ones(5)) == (0.0, 1.0)
    assert trend_p(np.arange(5.0)) == (4.0, 0.0)
    assert trend_p(np.arange(2.0)) == (0.0, 1.0)
