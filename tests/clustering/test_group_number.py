"""How many groups: planted heaps, none at all, and the rules beside the silhouette by hand."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.clustering import group_number
from fedclade.clustering.distances import Matrix
from fedclade.clustering.group_number import cut_into_groups, height_ratio, number_of_groups, pair_distances, stability
from fedclade.core import Groups, InputError


def new_rng() -> np.random.Generator:
    return np.random.default_rng(0)


def distances(places: NDArray[np.float64]) -> Matrix:
    names = tuple(f"c{number:03}" for number in range(len(places)))
    return Matrix(names, np.linalg.norm(places[:, None] - places[None], axis=2).astype(np.float32))


def heaps(count: int, seed: int, far: float = 12.0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.concatenate([far * np.eye(count, 10)[each] + rng.normal(size=(6, 10)) for each in range(count)])


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("seed", range(3))
def test_heaps_are_counted(count: int, seed: int) -> None:
    found = number_of_groups(distances(heaps(count, seed)), new_rng())
    assert found.groups == Groups.from_labels({f"c{number:03}": number // 6 for number in range(6 * count)})
    assert (found.height_ratio, found.stability) == (count, 1)


@pytest.mark.parametrize("seed", range(10))
def test_one_heap_is_one_group(seed: int) -> None:
    found = number_of_groups(distances(np.random.default_rng(seed).normal(size=(40, 10))), new_rng())
    assert (len(found.groups), found.gap) == (1, 1)


def test_twins_in_a_heap_are_no_group() -> None:
    """Two clients with the same data are nearer than others ever are: that tells nothing."""
    places = np.random.default_rng(1).normal(size=(20, 10))
    places = np.concatenate([places, places])  # everybody twice: pairs, and still no groups
    apart = pair_distances(distances(places))
    assert apart.noise[0] == 0  # everybody's nearest is its twin
    lonely = np.concatenate([places[:20], places[:1]])
    assert len(number_of_groups(distances(lonely), new_rng()).groups) == 1


@pytest.mark.parametrize("places", [[[0.0]], [[0.0], [9.0]]])
def test_few_clients_are_one_group(places: list[list[float]]) -> None:
    assert len(number_of_groups(distances(np.array(places)), new_rng()).groups) == 1


def test_heights_by_hand() -> None:
    """0, 1, 10, 11: merges at 1 and 1, then at the mean of 10, 11, 9 and 10. Equal sides: at 2 and at 2, no jump."""
    assert height_ratio(distances(np.array([[0.0], [1], [10], [11]]))) == 2
    assert height_ratio(distances(np.array([[0.0], [1], [5], [6], [40]]))) == 2  # 1, 1, 5, then 37 for all but one
    assert height_ratio(distances(np.array([[0, 0], [2, 0], [1, np.sqrt(3)]]))) == 1


def test_groups_without_any_width() -> None:
    """Copies of two clients: merges at 0, and one at 10, infinitely higher."""
    twice = distances(np.array([[0.0], [0], [0], [10], [10], [10]]))
    found = number_of_groups(twice, new_rng())
    assert (len(found.groups), found.height_ratio, found.stability) == (2, 2, 1)
    same = number_of_groups(distances(np.zeros((6, 1))), new_rng())
    assert (len(same.groups), same.height_ratio, same.gap) == (1, 1, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_distances_are_numbers(value: float) -> None:
    broken = distances(np.arange(4.0)[:, None])
    broken.values[0, 1] = broken.values[1, 0] = value
    for find in (partial(number_of_groups, rng=new_rng()), partial(cut_into_groups, count=2)):
        with pytest.raises(InputError, match="distances are not numbers"):
            find(broken)


def test_dispersions_by_hand() -> None:
    """0, 2 and 10. All: 2 (4 + 100 + 64) / 6 = 56. {0, 2} and {10}: 2 * 4 / 4 = 2."""
    squared = group_number.squared_distances(np.array([[0.0], [2], [10]]))
    np.testing.assert_allclose(np.exp(group_number.dispersions(squared, 2)), [56, 2], rtol=1e-6)


def test_the_gap_sees_two_heaps_and_none() -> None:
    assert group_number.gap(distances(heaps(2, 0)), new_rng()) == 2
    assert group_number.gap(distances(np.random.default_rng(0).uniform(size=(40, 3))), new_rng()) == 1


def test_groups_of_nothing_are_not_stable() -> None:
    apart = distances(np.random.default_rng(0).normal(size=(40, 10)))
    assert stability(apart, cut_into_groups(apart, 4), new_rng()) < 0.8
    assert stability(distances(heaps(4, 0)), cut_into_groups(distances(heaps(4, 0)), 4), new_rng()) == 1


def test_the_rand_index_by_hand() -> None:
    """One pair of four clients together in both, of two and three pairs, of six: (1 - 1) / (2.5 - 1) = 0."""
    assert group_number.adjusted_rand(
        {"a": 0, "b": 0, "c": 1, "d": 1}, {"a": 0, "b": 1, "c": 1, "d": 1}
    ) == pytest.approx(0)
    assert (
        group_number.adjusted_rand({"a": 5, "b": 5, "c": 1}, {"c": 0, "b": 2, "a": 2, "z": 2}) == 1
    )  # over those in both


def test_of_many_clients_the_other_rules_look_at_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups are still of all of them."""
    apart = distances(heaps(4, 0))
    monkeypatch.setattr(group_number, "MAX_SAMPLED_CLIENTS", 20)
    found = number_of_groups(apart, new_rng())
    assert (len(found.groups), found.height_ratio, found.stability) == (4, 4, 1.0)
    assert len(found.groups.labels) == len(apart.clients) > 20


def test_a_number_can_be_given() -> None:
    apart = distances(np.array([[0.0], [1], [10], [12], [30]]))
    assert cut_into_groups(apart, 3) == Groups((("c000", "c001"), ("c002", "c003"), ("c004",)))
    assert len(cut_into_groups(apart, 1)) == 1
    assert len(cut_into_groups(apart, 9)) == 5  # never more than clients
