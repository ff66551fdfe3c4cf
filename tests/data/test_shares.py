"""Exact shares, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.data.shares import apportion, client_names, dirichlet_shares, plant_groups, split


@pytest.mark.parametrize(
    ("total", "weights", "least", "shares"),
    [
        (100, [60, 25, 10, 4, 1], 1, [60, 25, 10, 4, 1]),
        (20, [6, 2, 1, 1], 1, [12, 4, 2, 2]),
        (10, [1, 1, 1], 0, [4, 3, 3]),
        (20, [60, 25, 10, 4, 1], 1, [11, 5, 2, 1, 1]),  # 12, 5, 2, 0.8, 0.2: the last gets one of the first's
        (7, [1, 0, 0], 2, [3, 2, 2]),
    ],
)
def test_proportions_by_hand(total: int, weights: list[float], least: int, shares: list[int]) -> None:
    assert apportion(total, weights, least).tolist() == shares


@given(st.integers(0, 500), st.lists(st.floats(0.001, 1000), min_size=1, max_size=20))
def test_proportions_add_up_and_are_within_one(total: int, weights: list[float]) -> None:
    shares = apportion(total, weights)
    assert shares.sum() == total
    assert np.abs(shares - total * np.array(weights) / sum(weights)).max() < 1 + 1e-6


def test_names_of_clients_and_planted_groups() -> None:
    assert client_names(3) == ("client-00", "client-01", "client-02")
    assert client_names(101)[0] == "client-000"
    groups = plant_groups(100, 5, (60, 25, 10, 4, 1), np.random.default_rng(0))
    assert [len(members) for members in groups] == [60, 25, 10, 4, 1]
    assert sorted(client for members in groups for client in members) == list(client_names(100))


@given(st.integers(1, 30), st.floats(1e-8, 100), st.integers(0, 2**32))
def test_a_skew_uses_every_example_once_and_leaves_nobody_without(shares: int, alpha: float, seed: int) -> None:
    labels = np.arange(90) % 7
    parts = dirichlet_shares(labels, shares, alpha, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(90))
    assert min(map(len, parts)) >= 2


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.floats(0.01, 0.99), st.integers(0, 99))
def test_a_split_tests_on_the_share_of_every_class(labels: list[int], share: float, seed: int) -> None:
    classes, count = np.array(labels), len(labels)
    train, test = split(np.arange(count), classes, share, (seed, "x"))
    assert sorted([*train, *test]) == list(range(count))
    assert len(test) == max(1, min(round(share * count), count - 1))
    for label in set(labels):
        exact = labels.count(label) * len(test) / count
        assert np.floor(exact + 1e-9) - 1e-9 <= (classes[test] == label).sum() <= np.ceil(exact - 1e-9) + 1e-9


def test_every_example_is_as_probable_to_be_tested_on() -> None:
    """One of a class with ten others, 3 tested on: in 3 of 11 splits, and not in none of them."""
    labels = np.array([1, *[0] * 10])
    tested = np.zeros(11)
    for seed in range(4000):
        tested[split(np.arange(11), labels, 0.25, (seed, "x"))[1]] += 1
    deviation = np.sqrt(4000 * (3 / 11) * (8 / 11))
    assert np.abs(tested - 4000 * 3 / 11).max() < 4 * deviation


def test_numbers_are_tested_on_over_their_whole_range() -> None:
    """Of 100 numbers in any order 20 are tested on: one or two of every ten neighbours, never all from one end."""
    labels = np.random.default_rng(0).permutation(100).astype(np.float32)
    for seed in range(20):
        _, test = split(np.arange(100), labels, 0.2, (seed, "x"))
        assert np.bincount(labels[test].astype(int) // 10, minlength=10).tolist() == [2] * 10


def test_the_rarest_flag_is_tested_on_in_its_share() -> None:
    """Flags of 5, 50, 10 and 20 of 100 rows, a fifth tested on: 1 of the first, and about 10, 2 and 4 of the others."""
    flags = np.zeros((100, 4), np.uint8)
    for flag, count in enumerate((5, 50, 10, 20)):
        flags[np.random.default_rng(flag).choice(100, count, replace=False), flag] = 1
    for seed in range(20):
        _, test = split(np.arange(100), flags, 0.2, (seed, "x"))
        assert flags[test, 0].sum() == 1
        assert np.abs(flags[test].sum(axis=0) - [1, 10, 2, 4]).max() <= 3


def test_a_split_does_not_depend_on_how_classes_are_numbered() -> None:
    labels = np.random.default_rng(0).integers(0, 3, 30)
    once, again = (split(np.arange(30), each, 0.2, (0, "x"))[1] for each in (labels, np.array([7, 0, 4])[labels]))
    assert once.tolist() == again.tolist()
