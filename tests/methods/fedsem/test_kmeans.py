"""k-means over models: by hand, and against scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from fedclade.core import InputError
from fedclade.methods.fedsem.kmeans import centres_of, cluster_rows, continue_clusters, first_labels, nearest_centres


def test_two_heaps_on_a_line() -> None:
    rows = np.array([[10], [0], [11], [1]], np.float32) + np.float32(10_000)
    found = cluster_rows(("d", "a", "c", "b"), rows, np.ones(4), 2, np.random.default_rng(0))
    assert found == {"d": 0, "a": 1, "c": 0, "b": 1}  # numbered as they first appear


def test_weights_decide_where_to_cut() -> None:
    """0, 4 and 10: 4 goes with 0 (cost 8) before 10 (cost 18); but with 10 if 0 weighs 100 and they weigh 1.

    Then 0 and 4 cost 100 * 4 / 101 * 4 = 15.8, and 4 and 10 cost 18: still 0. With weight 0.1 on 10 the cost is
    0.1 * 1 / 1.1 * 36 = 3.3, below the 8 of 0 and 4.
    """
    rows = np.array([[0], [4], [10]], np.float32)
    even = cluster_rows("abc", rows, np.ones(3), 2, np.random.default_rng(0))
    assert even["a"] == even["b"] != even["c"]
    light = cluster_rows("abc", rows, np.array([1, 1, 0.1]), 2, np.random.default_rng(0))
    assert light["a"] != light["b"] == light["c"]


@pytest.mark.parametrize("seed", range(5))
def test_as_good_as_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(3 * rng.normal(size=(1, 20)), 1, (9, 20)) for _ in range(4)]).astype(np.float32)
    weights = rng.uniform(1, 5, len(rows))
    names = [f"c{number}" for number in range(len(rows))]
    found = cluster_rows(names, rows, weights, 4, rng)
    labels = np.array([found[name] for name in names])
    means = [np.average(rows[labels == each], axis=0, weights=weights[labels == each]) for each in range(4)]
    cost = sum(
        weight * ((row - means[label]) ** 2).sum() for row, label, weight in zip(rows, labels, weights, strict=True)
    )
    theirs = KMeans(4, n_init=20, random_state=0).fit(rows, sample_weight=weights)
    assert cost <= theirs.inertia_ * 1.0001


def test_a_start_has_as_many_clusters_as_asked_for_even_at_one_place() -> None:
    assert set(first_labels(np.zeros((5, 5)), np.ones(5), 3, np.random.default_rng(0)).tolist()) == {0, 1, 2}
    with pytest.raises(InputError, match="too few rows"):
        cluster_rows("ab", np.zeros((2, 3), np.float32), np.ones(2), 3, np.random.default_rng(0))


def test_the_nearest_centre_by_hand() -> None:
    centres = np.array([[0, 0], [4, 0]], np.float32)
    rows = np.array([[1.9, 9], [2.1, -9], [2, 0]], np.float32)
    assert nearest_centres("abc", rows, centres) == {"a": 0, "b": 1, "c": 0}  # the first of equals
    assert nearest_centres((), rows[:0], centres) == {}


def test_centres_by_hand() -> None:
    """0 with weight 1 and 3 with weight 2 make 2; nobody in the second cluster, so it stays."""
    old = np.array([[7], [8], [9]], np.float32)
    rows = np.array([[0], [5], [3]], np.float32)
    new = centres_of({"a": 0, "b": 2, "c": 0}, "abc", rows, np.array([1.0, 7, 2]), old)
    assert new.tolist() == [[2], [8], [5]]
    assert new.dtype == np.float32
    assert old.tolist() == [[7], [8], [9]]


def test_steps_go_on_from_given_centres() -> None:
    """0, 4.5, 5.5 and 10 from centres 0 and 10: means 2.25 and 7.75, and nobody changes.

    If 0 is that of nine clients, the first mean is 4.5 / 10 = 0.45: 4.5 is nearer to 7.75, and stays there.
    """
    rows = np.array([[0], [4.5], [5.5], [10]], np.float32)
    centres = np.array([[10], [0]], np.float32)  # their numbers stay
    assert continue_clusters("abcd", rows, np.ones(4), centres) == {"a": 1, "b": 1, "c": 0, "d": 0}
    heavy = np.array([9.0, 1, 1, 1])
    assert continue_clusters("abcd", rows, heavy, centres) == {"a": 1, "b": 0, "c": 0, "d": 0}
    everyone = continue_clusters("abcdefghijkl", np.repeat(rows, [9, 1, 1, 1], axis=0), np.ones(12), centres)
    assert list(everyone.values()) == [1] * 9 + [0, 0, 0]
