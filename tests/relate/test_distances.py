"""Distances and angles by hand, against the definition written out, and within bounded memory."""

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.nouns import InputError
from fedclade.relate import distances
from fedclade.relate.distances import adjacency, cosines, euclidean, smallest


def test_angles_by_hand() -> None:
    """(1, 0), (1, 1), (-2, 0) and nothing: 45 and 180 degrees."""
    rows = np.array([[1, 0], [1, 1], [-2, 0], [0, 0]], np.float32)
    found = cosines(("a", "b", "c", "d"), rows)
    assert found.clients == ("a", "b", "c", "d")
    half = np.sqrt(0.5)
    np.testing.assert_allclose(
        found.values, [[1, half, -1, 0], [half, 1, -half, 0], [-1, -half, 1, 0], [0, 0, 0, 1]], rtol=0, atol=1e-6
    )
    assert found.of("c", "a") == -1


def test_distances_by_hand_also_far_from_the_middle() -> None:
    """3, 4 and 5: a triangle, at an offset at which single precision has steps of 0.001."""
    rows = np.array([[0, 0], [3, 0], [0, 4]], np.float32) + np.float32(10_000)
    np.testing.assert_allclose(euclidean("abc", rows).values, [[0, 3, 4], [3, 0, 5], [4, 5, 0]], rtol=0, atol=1e-3)


@pytest.mark.parametrize("features", [1, 2, 3, 8, 9, 64])
@pytest.mark.parametrize("room", [2**22, 500])
def test_the_smallest_distance_is_that_of_the_nearest_points(
    features: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distances, "ROOM", room)
    chance = np.random.default_rng(0)
    points: dict[str, NDArray[np.float32]] = {
        f"client-{number}": (30 * chance.uniform(size=(1 + number % 5, features))).astype(np.float32)
        for number in range(23)
    }
    found = smallest(points)
    assert found.clients == tuple(points)
    assert np.array_equal(found.values, found.values.T)
    for one in points:
        for other in points:
            apart = points[one].astype(np.float64)[:, None] - points[other].astype(np.float64)[None]
            wanted = 0 if one == other else np.sqrt((apart**2).sum(axis=2)).min()
            assert found.of(one, other) == pytest.approx(wanted, abs=1e-2 if features > 8 else 1e-5)


def test_neighbours_are_those_within_the_radius() -> None:
    points = {
        name: np.array(own, np.float32) for name, own in (("a", [[0, 0]]), ("b", [[9, 9], [0, 1]]), ("c", [[9, 8]]))
    }
    ids, near = adjacency(points, 1.0)
    assert ids == ("a", "b", "c")
    assert near.tolist() == [[True, True, False], [True, True, True], [False, True, True]]


def test_memory_does_not_grow_with_points_times_points() -> None:
    """1,000 clients with 5 points each: 25 million distances would be 100 MB; the result is 4 MB."""
    chance = np.random.default_rng(0)
    points = {f"c{number}": chance.uniform(size=(5, 2)).astype(np.float32) for number in range(1000)}
    tracemalloc.start()
    smallest(points)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40e6


def test_what_does_not_match_is_refused() -> None:
    rows = np.zeros((2, 3), np.float32)
    for wrong in (("a",), ("a", "a"), ("a", "b", "c")):
        with pytest.raises(InputError, match="clients and rows do not match"):
            cosines(wrong, rows)
    with pytest.raises(InputError, match="points differ in length"):
        smallest({"a": rows, "b": np.zeros((2, 2), np.float32)})
    with pytest.raises(InputError, match='points of client "a"'):
        smallest({"a": rows[:0]})
    assert smallest({}).values.shape == (0, 0)
