"""Newcomers by their points: to the nearest group, or to nobody."""

import numpy as np

from fedclade.nouns import Points
from fedclade.nouns.points import filled
from fedclade.relate.point_places import KEPT, point_atlas


def line(places: dict[str, float]) -> Points:
    """Clients with one point on a line."""
    points = {client: np.array([[place]], np.float32) for client, place in places.items()}
    return filled(points, dict.fromkeys(points, np.ones(1, np.int64)))


def test_reach_by_hand() -> None:
    """Members at 0, 1 and 10, 11: they are 1 apart; the next group is 9.5 from 1, half of the way is 5.25."""
    atlas = point_atlas(line({"a": 0, "b": 1, "c": 10, "d": 11}), [("a", "b"), ("c", "d")])
    np.testing.assert_allclose(atlas.reaches, [5.25, 5.25], rtol=0, atol=1e-5)
    # -4 is 4.5 from 0 and 1 in the mean, -6 is 6.5; 5.4 is 4.9 from the left group, 5.1 from the right one.
    newcomers = line({"e": -4, "f": -6, "g": 5.4, "h": 10.5})
    assert atlas.nearest(newcomers) == {"e": 0, "f": None, "g": 0, "h": 1}
    assert atlas.nearest(newcomers.of(())) == {}


def test_one_group_reaches_beyond_its_farthest_member() -> None:
    """By hand: 0, 1, 2: the farthest is 1.5 from the others in the mean; 1.5 times that is 2.25."""
    atlas = point_atlas(line({"a": 0, "b": 1, "c": 2}), [("a", "b", "c")])
    assert atlas.reaches.tolist() == [2.25]
    assert atlas.nearest(line({"d": 3.2, "e": 3.3})) == {"d": 0, "e": None}


def test_a_stranger_begins_a_group_that_others_join() -> None:
    atlas = point_atlas(line({"a": 0, "b": 1, "c": 10, "d": 11}), [("a", "b"), ("c", "d")])
    wider = atlas.joined(line({"e": 30}))
    assert wider.groups == 3
    assert wider.nearest(line({"f": 31, "g": 1})) == {"f": 2, "g": 0}


def test_a_stranger_among_groups_without_reach_has_some() -> None:
    """By hand: all members at 0, a stranger at 8: half of the way is 4."""
    atlas = point_atlas(line({"a": 0, "b": 0}), [("a", "b")])
    assert atlas.reaches.tolist() == [0]
    wider = atlas.joined(line({"e": 8}))
    assert wider.reaches.tolist() == [0, 4]
    assert wider.nearest(line({"f": 9, "g": 30})) == {"f": 1, "g": None}


def test_a_large_group_keeps_some_members() -> None:
    points = line({f"c{number:03}": number / 100 for number in range(100)})
    atlas = point_atlas(points, [points.clients])
    assert len(atlas.members.clients) == KEPT
    assert atlas.nearest(line({"x": 0.5, "y": 5})) == {"x": 0, "y": None}
