"""Test parts in which a rare class has its share, over many clients with few examples of it."""

import numpy as np
import pytest

import fedclade as fc
from fedclade.data.even_parts import even_counts


@pytest.mark.parametrize("seed", range(6))
def test_a_rare_class_reaches_the_test_part(seed: int) -> None:
    """1.9 % of the examples of 300 clients: the test part has the same share of them, within a tenth."""
    rng = np.random.default_rng(seed)
    arrays = {
        f"m{number:03d}": (rng.normal(size=(rows, 2)), (rng.random(rows) < 0.019).astype(int))
        for number, rows in enumerate(rng.integers(8, 60, 300))
    }
    made = fc.data.from_arrays(arrays, seed=seed)
    whole = np.concatenate([labels for _, labels in arrays.values()])
    tested = np.concatenate([held.test.labels for held in made.data.values()])
    assert tested.mean() == pytest.approx(whole.mean(), rel=0.1)
    for client, (_, labels) in arrays.items():
        test = made[client].test
        assert len(test) == max(1, min(round(0.2 * len(labels)), len(labels) - 1))
        assert sorted([*made[client].train.index, *test.index]) == list(range(len(labels)))
        exact = labels.mean() * len(test)
        assert np.floor(exact) <= test.labels.sum() <= np.ceil(exact)


def test_a_table_and_arrays_of_it_are_alike_and_a_seed_decides() -> None:
    rng = np.random.default_rng(0)
    arrays = {f"m{number:03d}": (rng.normal(size=(20, 2)), (rng.random(20) < 0.05).astype(int)) for number in range(50)}
    made = [fc.data.from_arrays(arrays, seed=seed) for seed in (1, 1, 2)]
    assert made[0].fingerprint == made[1].fingerprint != made[2].fingerprint


def test_chance_is_set_right_by_hand() -> None:
    """Ten clients with 9 examples of class 0 and 1 of class 1, 5 tested on: 5 of class 1 should be, and 8 are.

    Three of these eight clients test on one of class 0 in its place; the others stay as they are.
    """
    tested = np.array([[4, 1]] * 8 + [[5, 0]] * 2)
    learned = np.array([[9, 1]] * 10) - tested
    wanted = even_counts(learned, tested, 0)
    assert wanted.sum(axis=0).tolist() == [45, 5]
    assert wanted.sum(axis=1).tolist() == [5] * 10
    assert ((wanted != tested).any(axis=1)).sum() == 3
    fair = np.array([[4, 1]] * 5 + [[5, 0]] * 5)
    assert even_counts(np.array([[9, 1]] * 10) - fair, fair, 0).tolist() == fair.tolist()


def test_clients_with_one_class_each_stay_as_they_are() -> None:
    """Three rows of a class of its own: one is tested on, and nothing can be exchanged."""
    tested = np.eye(4, dtype=np.int64)
    assert even_counts(2 * tested, tested, 0).tolist() == tested.tolist()
