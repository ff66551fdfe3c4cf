"""Distances between sets of points: by hand, by the definition written out, and within bounded memory."""

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.clustering import point_distances
from fedclade.clustering.point_distances import POINT_DISTANCES, set_distances
from fedclade.core import InputError


def line(*places: float) -> NDArray[np.float32]:
    return np.array(places, np.float32)[:, None]


def test_by_hand() -> None:
    """{0, 10} and {0, 2}: there 0 and 8, so 4; back 0 and 2, so 1; in the mean 2.5. Paired 0-0 and 10-2."""
    points = {"a": line(0, 10), "b": line(0, 2)}
    assert set_distances("nearest", points).of("a", "b") == pytest.approx(2.5)
    assert set_distances("matched", points).of("b", "a") == pytest.approx(np.sqrt(0 + 64) / 2)
    one_pair = {"a": line(0, 10), "b": line(9)}
    assert set_distances("matched", one_pair).of("a", "b") == pytest.approx(1)


def test_one_point_in_common_is_not_all() -> None:
    """Matched: 0 and -200, 100 and -100, 200 and 0."""
    points = {"a": line(0, 100, 200), "b": line(0, -100, -200)}
    assert set_distances("smallest", points).of("a", "b") == 0
    assert set_distances("nearest", points).of("a", "b") == pytest.approx(100)
    assert set_distances("matched", points).of("a", "b") == pytest.approx(np.sqrt(3 * 200**2) / 3)


@pytest.mark.parametrize("features", [1, 3, 8, 9, 64])
@pytest.mark.parametrize(("block", "enumerated"), [(2**22, 6), (50, 6), (50, 2)])
def test_as_the_definitions_say(features: int, block: int, enumerated: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BLOCK_NUMBERS", "WIDE_BLOCK_NUMBERS", "BLOCK_PAIRS"):
        monkeypatch.setattr(point_distances, name, block)
    monkeypatch.setattr(point_distances, "MAX_ENUMERATED_POINTS", enumerated)
    rng = np.random.default_rng(0)
    points: dict[str, NDArray[np.float32]] = {
        f"c{number}": rng.normal(size=(1 + number % 4, features)).astype(np.float32) + 50 for number in range(11)
    }
    smallest, near, matched = (set_distances(kind, points) for kind in ("smallest", "nearest", "matched"))
    assert near.clients == matched.clients == smallest.clients == tuple(points)
    assert np.array_equal(smallest.values, smallest.values.T)
    for one, mine in points.items():
        for other, theirs in points.items():
            apart = np.linalg.norm(mine[:, None].astype(np.float64) - theirs[None], axis=2)
            both_ways = (apart.min(axis=1).mean() + apart.min(axis=0).mean()) / 2
            short = apart if len(mine) <= len(theirs) else apart.T
            ways = [short[range(len(short)), way] for way in permutations(range(short.shape[1]), len(short))]
            least = min(np.sqrt((way**2).sum()) / len(way) for way in ways)
            assert smallest.of(one, other) == pytest.approx(0 if one == other else apart.min(), abs=1e-4)
            assert near.of(one, other) == pytest.approx(0 if one == other else both_ways, abs=1e-4)
            assert matched.of(one, other) == pytest.approx(least, abs=1e-4)


def test_memory_does_not_grow_with_points_times_points() -> None:
    """1,000 clients with 5 points each: 25 million distances would be 100 MB; the result is 4 MB."""
    rng = np.random.default_rng(0)
    points = {f"c{number}": rng.uniform(size=(5, 2)).astype(np.float32) for number in range(1000)}
    tracemalloc.start()
    set_distances("smallest", points)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40e6


@pytest.mark.parametrize("kind", POINT_DISTANCES)
def test_wrong_points_are_named(kind: point_distances.PointDistance) -> None:
    for wrong in (np.zeros((0, 1), np.float32), np.zeros((1, 2), np.float32)):
        with pytest.raises(InputError, match='points of client "b"'):
            set_distances(kind, {"a": line(1), "b": wrong})
    assert set_distances(kind, {}).values.shape == (0, 0)
