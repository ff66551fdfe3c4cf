"""Distances between sets of points: by hand, and by the definition written out."""

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.nouns import InputError
from fedclade.relate.distances import smallest
from fedclade.relate.set_distances import matched, mean_of_nearest


def line(*places: float) -> NDArray[np.float32]:
    return np.array(places, np.float32)[:, None]


def test_by_hand() -> None:
    """{0, 10} and {0, 2}: there 0 and 8, so 4; back 0 and 2, so 1; in the mean 2.5. Paired 0-0 and 10-2."""
    points = {"a": line(0, 10), "b": line(0, 2)}
    assert mean_of_nearest(points).of("a", "b") == pytest.approx(2.5)
    assert matched(points).of("b", "a") == pytest.approx(np.sqrt(0 + 64) / 2)
    assert matched({"a": line(0, 10), "b": line(9)}).of("a", "b") == pytest.approx(1)  # one pair


def test_one_point_in_common_is_not_all() -> None:
    points = {"a": line(0, 100, 200), "b": line(0, -100, -200)}
    assert smallest(points).of("a", "b") == 0
    assert mean_of_nearest(points).of("a", "b") == pytest.approx(100)
    assert matched(points).of("a", "b") == pytest.approx(np.sqrt(3 * 200**2) / 3)  # 0 and -200, 100 and -100, 200 and 0


@pytest.mark.parametrize("full", [6, 2])
@pytest.mark.parametrize("room", [2**22, 50])
def test_as_the_definitions_say(room: int, full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclade.relate.distances.ROOM", room)
    monkeypatch.setattr("fedclade.relate.matching.ROOM", room)
    monkeypatch.setattr("fedclade.relate.matching.FULL", full)
    rng = np.random.default_rng(0)
    points: dict[str, NDArray[np.float32]] = {
        f"c{number}": rng.normal(size=(1 + number % 4, 3)).astype(np.float32) + 50 for number in range(11)
    }
    near, paired = mean_of_nearest(points), matched(points)
    assert near.clients == paired.clients == tuple(points)
    for one, mine in points.items():
        for other, theirs in points.items():
            apart = np.linalg.norm(mine[:, None].astype(np.float64) - theirs[None], axis=2)
            wanted = 0 if one == other else (apart.min(axis=1).mean() + apart.min(axis=0).mean()) / 2
            assert near.of(one, other) == pytest.approx(wanted, abs=1e-4)
            short = apart if len(mine) <= len(theirs) else apart.T
            ways = [short[range(len(short)), way] for way in permutations(range(short.shape[1]), len(short))]
            assert paired.of(one, other) == pytest.approx(
                min(np.sqrt((way**2).sum()) / len(way) for way in ways), abs=1e-4
            )


def test_wrong_points_are_named() -> None:
    with pytest.raises(InputError, match='points of client "b"'):
        mean_of_nearest({"a": line(1), "b": np.zeros((0, 1), np.float32)})
    with pytest.raises(InputError, match='points of client "b"'):
        matched({"a": line(1), "b": np.zeros((1, 2), np.float32)})
    assert mean_of_nearest({}).clients == matched({}).clients == ()
