"""Groups from points: the three distances against brute force, the three cuts on planted groups."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclade.nouns import Groups, InputError, Points
from fedclade.nouns.points import filled, joined
from fedclade.relate.distances import least, nearest, nearest_between
from fedclade.relate.matching import assigned
from fedclade.relate.points import Relating, related

RNG = np.random.default_rng(0)


def named(sets: list[np.ndarray]) -> Points:
    points = {f"c{number:02}": np.asarray(each, np.float32) for number, each in enumerate(sets)}
    return filled(points, {client: np.ones(len(own), np.int64) for client, own in points.items()})


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
            assert nearest(points)[one, other] == pytest.approx(both, abs=2e-3)
            assert least(points)[one, other] == pytest.approx(apart.min(), abs=2e-3)
            assert assigned(points)[one, other] == pytest.approx(matched / pairs, abs=2e-3)
            assert many.shape[0] >= pairs
    np.testing.assert_allclose(np.diag(nearest_between(points, points)), 0, rtol=0, atol=2e-3)


def test_fillers_are_no_points() -> None:
    """By hand: 0 against 0 and 4: (0 + (0 + 4) / 2) / 2 = 1, also beside a client with three points."""
    points = named([np.array([[0.0]]), np.array([[0.0], [4.0]]), np.array([[9.0], [10.0], [11.0]])])
    assert nearest(points)[0, 1] == pytest.approx(1.0)
    assert assigned(points)[0, 1] == 0
    assert joined(points.of(["c00"]), points.of(["c02"])).counts.tolist() == [[1, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("distance", ["nearest", "smallest", "matched"])
@pytest.mark.parametrize("cut", ["average", "ward", "components"])
def test_planted_groups_are_found(distance: str, cut: str) -> None:
    points, truth = planted()
    how = Relating(distance=distance, cut=cut)  # type: ignore[arg-type]  # one of three, twice
    found = related(points, how)
    assert found.partition == truth
    assert found.passed
    assert found.kind == distance
    assert related(points.of(reversed(points.clients)), how).partition == truth


@pytest.mark.parametrize("cut", ["average", "ward"])
def test_without_groups_the_answer_is_one(cut: str) -> None:
    points, _ = planted(groups=1, members=20)
    found = related(points, Relating(cut=cut))  # type: ignore[arg-type]  # one of three
    assert found.count == 1
    assert not found.passed


def test_near_means_related() -> None:
    """The paper prints Sign(A - gamma), which relates far clients. By hand: 0, 1 and 10, 11 with gamma 2."""
    points = named([np.array([[place]]) for place in (0.0, 1.0, 10.0, 11.0)])
    for cut in ("ward", "components"):
        found = related(points, Relating(distance="smallest", gamma=2.0, cut=cut))
        assert found.groups == (("c00", "c01"), ("c02", "c03"))
    everybody = related(points, Relating(distance="smallest", gamma=100.0, cut="components"))
    assert everybody.count == 1
    nobody = related(points, Relating(distance="smallest", gamma=0.5, cut="components"))
    assert len(nobody.partition) == 4


def test_a_client_with_the_data_of_two_groups_does_not_merge_them() -> None:
    """It is within reach of everybody by the smallest distance, and merges all; by the mean of nearest it does not."""
    points, truth = planted(groups=2, members=8)
    both = np.concatenate([points.places[0], points.places[1]])
    more = joined(points, filled({"bridge": both}, {"bridge": np.ones(8, np.int64)}))
    found = related(more, Relating())
    assert Groups.from_labels({client: found.partition.labels[client] for client in points.clients}) == truth
    gamma = float(least(points)[least(points) > 0].mean())
    assert related(more, Relating(distance="smallest", gamma=gamma, cut="components")).count == 1


def test_the_number_of_groups_can_be_given() -> None:
    points, truth = planted(groups=3)
    for cut in ("average", "ward"):
        for count in (1, 2, 3, 5):
            found = related(points, Relating(groups=count, cut=cut))
            assert len(found.partition) == count
        assert len(related(points, Relating(groups=99, cut=cut)).partition) == len(points.clients)
        assert len(related(points.of(points.clients[:2]), Relating(groups=2, cut=cut)).partition) == 2
        assert related(points, Relating(groups=3, cut=cut)).partition == truth


def test_leaving_clients_out_leaves_the_others_where_they_are() -> None:
    points, truth = planted(groups=3, members=10)
    stay = [client for number, client in enumerate(points.clients) if number % 5]
    assert related(points.of(stay), Relating()).partition == Groups.from_labels(
        {client: truth.labels[client] for client in stay}
    )


def test_of_many_clients_some_are_compared_and_the_rest_is_placed() -> None:
    """The answer is that of comparing all; somebody unlike anybody is an outlier, if it is not among the compared."""
    points, truth = planted(groups=3, members=20)
    found = related(points, Relating(), landmarks=30)
    assert found.partition == truth == related(points, Relating()).partition
    assert len(found.clients) == 30
    left = next(client for client in points.clients if client not in found.clients)
    far = joined(
        points.of(client for client in points.clients if client != left),
        filled({left: np.full((1, 12), 99, np.float32)}, {left: np.ones(1, np.int64)}),
    )
    assert related(far, Relating(), landmarks=30).outliers == (left,)
    given = related(far, Relating(groups=3), landmarks=30)
    assert len(given.partition) == 3, "as many as were asked for"


@pytest.mark.parametrize("count", [1, 2])
def test_very_few_clients_are_one_group(count: int) -> None:
    points, _ = planted(groups=1, members=count)
    for cut in ("average", "ward", "components"):
        assert related(points, Relating(cut=cut)).count == 1
    with pytest.raises(InputError, match="there is nobody to compare"):
        related(points.of(()), Relating())


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
    liar = filled({"liar": np.full((4, features), place, np.float32)}, {"liar": np.ones(4, np.int64)})
    found = related(joined(points, liar), Relating(distance=distance, cut=cut))  # type: ignore[arg-type]  # of three
    assert Groups.from_labels({client: found.partition.labels[client] for client in points.clients}) == truth
    assert found.outliers == ("liar",)
    among = [found.clients.index(client) for client in points.clients]
    alone = related(points, Relating(distance=distance, cut=cut))  # type: ignore[arg-type]  # of three
    np.testing.assert_allclose(found.squared[np.ix_(among, among)], alone.squared, rtol=1e-3, atol=1e-3)
