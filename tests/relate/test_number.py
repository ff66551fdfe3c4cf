"""How many groups: planted heaps, none at all, and the rules beside the silhouette by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.nouns import Groups, InputError
from fedclade.relate import number
from fedclade.relate.distances import Matrix
from fedclade.relate.number import (
    apart_of,
    dispersions,
    gap,
    given_number,
    height_ratio,
    number_of_groups,
    squares,
    stability,
)


def chance() -> np.random.Generator:
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
    found = number_of_groups(distances(heaps(count, seed)), chance())
    assert found.passed
    assert found.count == count
    assert found.groups == Groups.from_labels({f"c{number:03}": number // 6 for number in range(6 * count)})
    assert found.height_ratio == count
    assert found.stability == 1


@pytest.mark.parametrize("seed", range(10))
def test_one_heap_is_one_group(seed: int) -> None:
    found = number_of_groups(distances(np.random.default_rng(seed).normal(size=(40, 10))), chance())
    assert not found.passed
    assert found.count == 1
    assert found.gap == 1


def test_twins_in_a_heap_are_no_group() -> None:
    """Two clients with the same data are nearer than others ever are: that tells nothing."""
    places = np.random.default_rng(1).normal(size=(20, 10))
    places = np.concatenate([places, places])  # everybody twice: pairs, and still no groups
    apart = apart_of(distances(places))
    assert apart.noise[0] == 0  # everybody's nearest is its twin
    lonely = np.concatenate([places[:20], places[:1]])
    assert number_of_groups(distances(lonely), chance()).count == 1


def test_few_clients_are_one_group() -> None:
    for places in ([[0.0]], [[0.0], [9.0]]):
        found = number_of_groups(distances(np.array(places)), chance())
        assert (found.count, found.passed) == (1, False)


def test_heights_by_hand() -> None:
    """0, 1, 10, 11: merges at 1 and 1, then at the mean of 10, 11, 9 and 10. Equal sides: at 2 and at 2, no jump."""
    assert height_ratio(distances(np.array([[0.0], [1], [10], [11]]))) == 2
    assert height_ratio(distances(np.array([[0.0], [1], [5], [6], [40]]))) == 2  # 1, 1, 5, then 37 for all but one
    assert height_ratio(distances(np.array([[0, 0], [2, 0], [1, np.sqrt(3)]]))) == 1


def test_groups_without_any_width() -> None:
    """Copies of two clients: merges at 0, and one at 10, infinitely higher."""
    twice = distances(np.array([[0.0], [0], [0], [10], [10], [10]]))
    found = number_of_groups(twice, chance())
    assert (found.count, found.height_ratio, found.stability) == (2, 2, 1)
    same = number_of_groups(distances(np.zeros((6, 1))), chance())
    assert (same.count, same.height_ratio, same.gap) == (1, 1, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_distances_are_numbers(value: float) -> None:
    wrong = distances(np.arange(4.0)[:, None])
    wrong.values[0, 1] = wrong.values[1, 0] = value
    with pytest.raises(InputError, match="distances are not numbers"):
        number_of_groups(wrong, chance())
    with pytest.raises(InputError, match="distances are not numbers"):
        given_number(wrong, 2)


def test_dispersions_by_hand() -> None:
    """0, 2 and 10. All: 2 (4 + 100 + 64) / 6 = 56. {0, 2} and {10}: 2 * 4 / 4 = 2."""
    squared = squares(np.array([[0.0], [2], [10]]))
    np.testing.assert_allclose(np.exp(dispersions(squared, 2)), [56, 2], rtol=1e-6)


def test_the_gap_sees_two_heaps_and_none() -> None:
    assert gap(distances(heaps(2, 0)), chance()) == 2
    assert gap(distances(np.random.default_rng(0).uniform(size=(40, 3))), chance()) == 1


def test_groups_of_nothing_are_not_stable() -> None:
    apart = distances(np.random.default_rng(0).normal(size=(40, 10)))
    assert stability(apart, given_number(apart, 4), chance()) < 0.8
    assert stability(distances(heaps(4, 0)), given_number(distances(heaps(4, 0)), 4), chance()) == 1


def test_of_many_clients_the_other_rules_look_at_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """The groups are still of all of them."""
    apart = distances(heaps(4, 0))
    monkeypatch.setattr(number, "SOME", 20)
    found = number_of_groups(apart, chance())
    assert (len(found.groups), found.height_ratio, found.stability) == (4, 4, 1.0)
    assert len(found.groups.labels) == len(apart.clients) > 20


def test_a_number_can_be_given() -> None:
    apart = distances(np.array([[0.0], [1], [10], [12], [30]]))
    assert given_number(apart, 3) == Groups((("c000", "c001"), ("c002", "c003"), ("c004",)))
    assert len(given_number(apart, 1)) == 1
    assert len(given_number(apart, 9)) == 5  # never more than clients
