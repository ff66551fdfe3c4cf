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


@given(st.lists(st.integers(0, 4), min_size=2, max_size=40), st.floats(0.01, 0.99))
def test_a_split_leaves_something_on_both_sides_and_no_unseen_class(labels: list[int], share: float) -> None:
    classes, count = np.array(labels), len(labels)
    train, test = split(np.arange(count), classes, share, (0, "x"))
    assert sorted([*train, *test]) == list(range(count))
    assert min(len(train), len(test)) >= 1
    free = count - len(
        set(labels)
    )  # one of each class is learned from; if that leaves none, one is tested all the same
    assert len(test) == (min(max(round(share * count), 1), free) if free else 1)
    assert not free or set(classes[test]) <= set(classes[train])
