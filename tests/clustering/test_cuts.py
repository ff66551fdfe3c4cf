"""The tree and where it is cut, against scipy, scikit-learn and brute force."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.metrics import silhouette_samples

from fedclade.clustering.cuts import GroupTable, PairDistances, average_linkage, best_cut, nested_cuts, separation_of
from fedclade.core import Groups


def apart_of(points: NDArray[np.float64], noise: float = 0.0, names: str = "c") -> PairDistances:
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2).astype(np.float32)
    ids = tuple(f"{names}{number:03}" for number in range(len(points)))
    return PairDistances("test", ids, squared, np.full(len(points), noise))


def heaps(*sizes: int, seed: int = 0, far: float = 20.0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.concatenate([far * number + rng.normal(size=(size, 2)) for number, size in enumerate(sizes)])


def test_the_tree_is_that_of_mean_squared_distances() -> None:
    """Also where some squared distances, less their noise, are negative."""
    apart = apart_of(heaps(4, 5, seed=1))
    theirs = linkage(apart.squared.astype(np.float64)[np.triu_indices(9, 1)], "average")
    assert average_linkage(apart)[:, [0, 1, 3]].tolist() == theirs[:, [0, 1, 3]].tolist()
    lower = replace(apart, squared=apart.squared - 7)
    assert average_linkage(lower)[:, :2].tolist() == average_linkage(apart)[:, :2].tolist()
    assert average_linkage(lower).min() >= 0


@given(st.integers(3, 12), st.integers(0, 1000))
def test_cuts_are_those_of_scipy(count: int, seed: int) -> None:
    tree = average_linkage(apart_of(np.random.default_rng(seed).normal(size=(count, 2))))
    for number, labels in enumerate(nested_cuts(tree, count - 1), start=2):
        theirs = cut_tree(tree, n_clusters=number)[:, 0]
        assert np.array_equal(np.equal.outer(labels, labels), np.equal.outer(theirs, theirs))


def test_ties_still_give_every_number_of_groups() -> None:
    tree = average_linkage(apart_of(np.zeros((6, 2))))
    assert [int(labels.max()) + 1 for labels in nested_cuts(tree, 5)] == [2, 3, 4, 5]


def test_sums_of_merged_groups_are_sums_from_scratch() -> None:
    apart = apart_of(np.random.default_rng(2).normal(size=(9, 2)))
    fine = np.array([0, 1, 2, 0, 1, 2, 3, 3, 3])
    coarse = np.array([0, 1, 1, 0, 1, 1, 0, 0, 0])
    merged, direct = GroupTable.of(apart, fine).merge(coarse), GroupTable.of(apart, coarse)
    np.testing.assert_allclose(merged.squared, direct.squared, rtol=1e-5)
    assert merged.pairs.tolist() == direct.pairs.tolist()


def test_without_noise_it_is_close_to_the_usual_silhouette() -> None:
    """scikit-learn means distances, we take roots of mean squares: nearly the same for tight heaps."""
    points = heaps(10, 12, 8, seed=3)
    labels = np.repeat([0, 1, 2], [10, 12, 8])
    ours = GroupTable.of(apart_of(points), labels).silhouettes(labels)
    np.testing.assert_allclose(ours, silhouette_samples(points, labels), rtol=0, atol=0.03)


def test_differences_below_the_noise_count_as_none() -> None:
    labels = np.repeat([0, 1], 10)
    points = heaps(10, 10, seed=4, far=2.0)
    clear = GroupTable.of(apart_of(points), labels).silhouettes(labels)
    noisy = GroupTable.of(apart_of(points, noise=1000.0), labels).silhouettes(labels)
    assert clear.mean() > 0.3
    assert noisy.tolist() == [0.0] * 20


def test_a_noisy_client_far_away_does_not_make_the_others_a_group() -> None:
    """Its own noise is in its distances: both sides of the comparison are raised to it."""
    apart, labels = apart_of(np.zeros((10, 2))), np.repeat([0, 1], [8, 2])
    noisy = replace(apart, noise=np.where(labels, 400.0, 0.0))
    assert GroupTable.of(noisy, labels).silhouettes(labels).max() == 0


@pytest.mark.parametrize("sizes", [(5, 5), (30, 20, 10), (60, 25, 10, 4), (3, 3, 3, 3, 3, 3, 3, 3)])
def test_heaps_are_found_with_their_number(sizes: tuple[int, ...]) -> None:
    apart = apart_of(heaps(*sizes))
    cut = best_cut(apart)
    truth = np.repeat(range(len(sizes)), sizes)
    assert cut.groups == Groups.from_labels(dict(zip(apart.clients, truth, strict=True)))
    assert cut.separation > 0.8
    assert sorted(cut.order) == list(apart.clients)


def test_the_order_of_leaves_is_of_ids_and_not_of_places() -> None:
    """Published FLT indexes members in client order with leaf order: here clients of the heaps alternate."""
    points = heaps(6, 6)[np.argsort(np.tile([0, 1], 6), kind="stable").argsort()]
    apart = apart_of(points)
    cut = best_cut(apart)
    expected = {client: number % 2 for number, client in enumerate(apart.clients)}
    assert cut.groups == Groups.from_labels(expected)
    sides = [expected[client] for client in cut.order]
    assert sides in ([0] * 6 + [1] * 6, [1] * 6 + [0] * 6)


@pytest.mark.parametrize("seed", range(5))
def test_one_heap_does_not_stand_apart(seed: int) -> None:
    assert best_cut(apart_of(np.random.default_rng(seed).normal(size=(60, 16)), noise=8.0)).separation < 0.3


def test_an_absurd_client_does_not_hide_the_groups() -> None:
    points = np.concatenate([heaps(20, 20, 20), [[1e6, 1e6]]])
    cut = best_cut(apart_of(points))
    assert sorted(len(members) for members in cut.groups.members) == [1, 20, 20, 20]
    assert cut.separation > 0.8


def test_separation_is_the_smaller_of_two_means() -> None:
    """By hand: groups of 4 (all 1.0) and 2 (all 0.4), one alone: clients (4 + 0.8) / 6 = 0.8, groups 0.7."""
    silhouettes = np.array([1, 1, 1, 1, 0.4, 0.4, 0.0])
    assert separation_of(silhouettes, np.array([0, 0, 0, 0, 1, 1, 2])) == pytest.approx(0.7)
    assert separation_of(np.zeros(3), np.arange(3)) == 0


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_clients_are_one_group(count: int) -> None:
    cut = best_cut(apart_of(np.arange(2.0 * count).reshape(count, 2) * 100))
    assert len(cut.groups) == 1


def test_pairs_that_cannot_be_compared_neither_join_nor_part() -> None:
    apart = apart_of(heaps(8, 8))
    known = np.ones((16, 16), bool)
    for one, other in ((0, 1), (2, 9), (3, 12), (10, 11)):
        known[one, other] = known[other, one] = False
    cut = best_cut(replace(apart, squared=np.where(known, apart.squared, 0), comparable=known))
    assert [len(members) for members in cut.groups.members] == [8, 8]


def test_where_nobody_can_be_compared_nothing_is_judged() -> None:
    """Labels that no two clients share: the other distance is taken, whatever it says."""
    nothing = replace(apart_of(np.zeros((4, 2))), comparable=np.eye(4, dtype=bool))
    for groups in (0, 2):
        cut = best_cut(nothing, groups=groups)
        assert (cut.separation, cut.silhouettes) == (-1, {})
