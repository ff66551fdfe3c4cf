"""Points: groups of clients by them, with every distance and cut, and where newcomers belong."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclade.clustering.point_distances import matched_distances, nearest_distances, nearest_distances_between
from fedclade.clustering.point_distances import smallest_distances as smallest_of_points
from fedclade.core import Groups, InputError, Points
from fedclade.core.points import concatenate_points, pad_points
from fedclade.methods.flt.encoder import MAX_MEMBERS, Encoder, groups_of_points, point_places
from fedclade.methods.flt.found_groups import GroupSearch

RNG = np.random.default_rng(0)


def named(sets: list[np.ndarray]) -> Points:
    points = {f"c{number:02}": np.asarray(each, np.float32) for number, each in enumerate(sets)}
    return pad_points(points, {client: np.ones(len(own), np.int64) for client, own in points.items()})


def planted(groups: int = 3, members: int = 6, features: int = 12, spread: float = 0.5) -> tuple[Points, Groups]:
    """Each group has four heaps of its own; a member has a point near each of them."""
    heaps = RNG.normal(size=(groups, 4, features)) * 4
    sets = [heaps[number % groups] + RNG.normal(size=(4, features)) * spread for number in range(groups * members)]
    points = named(sets)
    return points, Groups.from_labels({client: number % groups for number, client in enumerate(points.clients)})


@given(
    st.lists(
        st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=3), min_size=1, max_size=4
    ),
    st.integers(0, 20),
)
@settings(max_examples=40, deadline=None)
def test_distances_are_those_of_brute_force(sets: list[list[tuple[int, int]]], features: int) -> None:
    """With few features and with many: the rest are zeros. Clients have different numbers of points."""
    wide = [np.pad(np.array(each, np.float32), ((0, 0), (0, features))) for each in sets]
    points = named(wide)
    for one, mine in enumerate(wide):
        for other, theirs in enumerate(wide):
            if one == other:
                continue
            apart = np.linalg.norm(mine[:, None] - theirs[None], axis=2)
            both = (apart.min(axis=1).mean() + apart.min(axis=0).mean()) / 2
            few, many = sorted((apart, apart.T), key=lambda each: each.shape[0])
            pairs = min(len(mine), len(theirs))
            matched = min(
                np.sqrt(sum(few[row, column] ** 2 for row, column in enumerate(order)))
                for order in permutations(range(few.shape[1]), pairs)
            )
            assert nearest_distances(points)[one, other] == pytest.approx(both, abs=2e-3)
            assert smallest_of_points(points)[one, other] == pytest.approx(apart.min(), abs=2e-3)
            assert matched_distances(points)[one, other] == pytest.approx(matched / pairs, abs=2e-3)
            assert many.shape[0] >= pairs
    np.testing.assert_allclose(np.diag(nearest_distances_between(points, points)), 0, rtol=0, atol=2e-3)


def test_fillers_are_no_points() -> None:
    """By hand: 0 against 0 and 4: (0 + (0 + 4) / 2) / 2 = 1, also beside a client with three points."""
    points = named([np.array([[0.0]]), np.array([[0.0], [4.0]]), np.array([[9.0], [10.0], [11.0]])])
    assert nearest_distances(points)[0, 1] == pytest.approx(1.0)
    assert matched_distances(points)[0, 1] == 0
    assert concatenate_points(points.of(["c00"]), points.of(["c02"])).counts.tolist() == [[1, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("distance", ["nearest", "smallest", "matched"])
@pytest.mark.parametrize("cut", ["average", "ward", "components"])
def test_planted_groups_are_found(distance: str, cut: str) -> None:
    points, truth = planted()
    how = Encoder(distance=distance, cut=cut)  # type: ignore[arg-type]  # one of three, twice
    found = groups_of_points(points, how)
    assert (found.partition, found.has_groups, found.distance) == (truth, True, distance)
    assert groups_of_points(points.of(reversed(points.clients)), how).partition == truth


@pytest.mark.parametrize("cut", ["average", "ward"])
def test_without_groups_the_answer_is_one(cut: str) -> None:
    points, _ = planted(groups=1, members=20)
    found = groups_of_points(points, Encoder(cut=cut))  # type: ignore[arg-type]  # one of three
    assert (found.count, found.has_groups) == (1, False)


def test_near_means_related() -> None:
    """The paper prints Sign(A - gamma), which relates far clients. By hand: 0, 1 and 10, 11 with gamma 2."""
    points = named([np.array([[place]]) for place in (0.0, 1.0, 10.0, 11.0)])
    for cut in ("ward", "components"):
        found = groups_of_points(points, Encoder(distance="smallest", cut=cut), GroupSearch(gamma=2.0))
        assert found.groups == (("c00", "c01"), ("c02", "c03"))
    for gamma, groups in ((100.0, 1), (0.5, 4)):
        found = groups_of_points(points, Encoder(distance="smallest", cut="components"), GroupSearch(gamma=gamma))
        assert len(found.partition) == groups


@pytest.mark.parametrize("apart", [4.0, 100.0])
def test_equal_rows_of_the_graph_are_no_groups(apart: float) -> None:
    """Five blocks of three heaps, of which the first and the last are not related: five groups, not fifteen."""
    places = [apart * block + 0.8 * heap for block in range(5) for heap in range(3) for _ in range(4)]
    points = named([np.array([[place]]) for place in places])
    found = groups_of_points(points, Encoder(distance="smallest", cut="ward"), GroupSearch(gamma=1.0))
    truth = Groups.from_labels({client: number // 12 for number, client in enumerate(points.clients)})
    assert (found.partition, found.has_groups) == (truth, True)


def test_a_client_with_the_data_of_two_groups_does_not_merge_them() -> None:
    """It is within reach of everybody by the smallest distance, and merges all; by the mean of nearest it does not."""
    points, truth = planted(groups=2, members=8)
    both = np.concatenate([points.places[0], points.places[1]])
    more = concatenate_points(points, pad_points({"bridge": both}, {"bridge": np.ones(8, np.int64)}))
    found = groups_of_points(more, Encoder())
    assert Groups.from_labels({client: found.partition.labels[client] for client in points.clients}) == truth
    gamma = float(smallest_of_points(points)[smallest_of_points(points) > 0].mean())
    assert groups_of_points(more, Encoder(distance="smallest", cut="components"), GroupSearch(gamma=gamma)).count == 1


def test_the_number_of_groups_can_be_given() -> None:
    points, truth = planted(groups=3)
    for cut in ("average", "ward"):
        for count in (1, 2, 3, 5):
            found = groups_of_points(points, Encoder(cut=cut), GroupSearch(groups=count))
            assert len(found.partition) == count
        assert len(groups_of_points(points, Encoder(cut=cut), GroupSearch(groups=99)).partition) == len(points.clients)
        two = points.of(points.clients[:2])
        assert len(groups_of_points(two, Encoder(cut=cut), GroupSearch(groups=2)).partition) == 2
        assert groups_of_points(points, Encoder(cut=cut), GroupSearch(groups=3)).partition == truth


def test_leaving_clients_out_leaves_the_others_where_they_are() -> None:
    points, truth = planted(groups=3, members=10)
    stay = [client for number, client in enumerate(points.clients) if number % 5]
    wanted = Groups.from_labels({client: truth.labels[client] for client in stay})
    assert groups_of_points(points.of(stay), Encoder()).partition == wanted


def test_of_many_clients_some_are_compared_and_the_rest_is_placed() -> None:
    """The answer is that of comparing all; somebody unlike anybody is an outlier, if it is not among the compared."""
    points, truth = planted(groups=3, members=20)
    found = groups_of_points(points, Encoder(), GroupSearch(max_compared=30))
    assert found.partition == truth == groups_of_points(points, Encoder()).partition
    assert len(found.clients) == 30
    left = next(client for client in points.clients if client not in found.clients)
    far = concatenate_points(
        points.of(client for client in points.clients if client != left),
        pad_points({left: np.full((1, 12), 99, np.float32)}, {left: np.ones(1, np.int64)}),
    )
    assert groups_of_points(far, Encoder(), GroupSearch(max_compared=30)).outliers == (left,)
    assert len(groups_of_points(far, Encoder(), GroupSearch(groups=3, max_compared=30)).partition) == 3


@pytest.mark.parametrize("count", [1, 2])
def test_very_few_clients_are_one_group(count: int) -> None:
    points, _ = planted(groups=1, members=count)
    for cut in ("average", "ward", "components"):
        assert groups_of_points(points, Encoder(cut=cut)).count == 1
    with pytest.raises(InputError, match="there is no client to compare"):
        groups_of_points(points.of(()), Encoder())


def test_points_must_fit_together() -> None:
    with pytest.raises(InputError, match="points do not fit together"):
        Points(("a",), np.zeros((2, 1, 1), np.float32), np.zeros((2, 1), np.int64))


@pytest.mark.parametrize("place", [1e6, -1e9])
@pytest.mark.parametrize("distance", ["nearest", "smallest", "matched"])
@pytest.mark.parametrize("cut", ["average", "ward"])
@pytest.mark.parametrize("features", [4, 12])
def test_a_liar_does_not_move_the_honest(place: float, distance: str, cut: str, features: int) -> None:
    """One client far beyond all others, up to where the gate ends: the others' groups stay, and it is alone."""
    points, truth = planted(features=features, spread=0.1)
    liar = pad_points({"liar": np.full((4, features), place, np.float32)}, {"liar": np.ones(4, np.int64)})
    found = groups_of_points(concatenate_points(points, liar), Encoder(distance=distance, cut=cut))  # type: ignore[arg-type]  # of three
    assert Groups.from_labels({client: found.partition.labels[client] for client in points.clients}) == truth
    assert found.outliers == ("liar",)
    among = [found.clients.index(client) for client in points.clients]
    alone = groups_of_points(points, Encoder(distance=distance, cut=cut))  # type: ignore[arg-type]  # of three
    np.testing.assert_allclose(found.squared[np.ix_(among, among)], alone.squared, rtol=1e-3, atol=1e-3)


def line(places: dict[str, float]) -> Points:
    """Clients with one point on a line."""
    points = {client: np.array([[place]], np.float32) for client, place in places.items()}
    return pad_points(points, dict.fromkeys(points, np.ones(1, np.int64)))


def test_reach_by_hand() -> None:
    """Members at 0, 1 and 10, 11: they are 1 apart; the next group is 9.5 from 1, half of the way is 5.25."""
    atlas = point_places(line({"a": 0, "b": 1, "c": 10, "d": 11}), [("a", "b"), ("c", "d")])
    np.testing.assert_allclose(atlas.reach, [5.25, 5.25], rtol=0, atol=1e-5)
    # -4 is 4.5 from 0 and 1 in the mean, -6 is 6.5; 5.4 is 4.9 from the left group, 5.1 from the right one.
    newcomers = line({"e": -4, "f": -6, "g": 5.4, "h": 10.5})
    assert atlas.nearest(newcomers) == {"e": 0, "f": None, "g": 0, "h": 1}
    assert atlas.nearest(newcomers.of(())) == {}


def test_one_group_reaches_beyond_its_farthest_member() -> None:
    """By hand: 0, 1, 2: the farthest is 1.5 from the others in the mean; 1.5 times that is 2.25."""
    atlas = point_places(line({"a": 0, "b": 1, "c": 2}), [("a", "b", "c")])
    assert atlas.reach.tolist() == [2.25]
    assert atlas.nearest(line({"d": 3.2, "e": 3.3})) == {"d": 0, "e": None}


def test_an_outlier_begins_a_group_that_others_join() -> None:
    """By hand, where groups have no reach: all members at 0, an outlier at 8: half of the way is 4."""
    atlas = point_places(line({"a": 0, "b": 1, "c": 10, "d": 11}), [("a", "b"), ("c", "d")])
    assert atlas.with_group(line({"e": 30})).nearest(line({"f": 31, "g": 1})) == {"f": 2, "g": 0}
    wider = point_places(line({"a": 0, "b": 0}), [("a", "b")]).with_group(line({"e": 8}))
    assert wider.reach.tolist() == [0, 4]
    assert wider.nearest(line({"f": 9, "g": 30})) == {"f": 1, "g": None}


def test_a_large_group_keeps_some_members() -> None:
    points = line({f"c{number:03}": number / 100 for number in range(100)})
    atlas = point_places(points, [points.clients])
    assert len(atlas.members.clients) == MAX_MEMBERS
    assert atlas.nearest(line({"x": 0.5, "y": 5})) == {"x": 0, "y": None}
