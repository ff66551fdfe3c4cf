"""Class moments: distances against a plain calculation, groups on planted worlds, and where newcomers belong."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

import fedclade as fc
from fedclade.client.moments import add_noise, moments
from fedclade.core import ClientId, Groups, InputError, Moments
from fedclade.core.moments import label_moments
from fedclade.core.task import Task
from fedclade.data import Federation
from fedclade.methods.flt.class_moments import (
    MAX_VARIANCE_FACTOR,
    example_variances,
    groups_of_moments,
    moment_distances,
    moment_places,
)
from fedclade.methods.flt.found_groups import GroupSearch

LABELS, FEATURES = 3, 4
CENTRES = np.array([[0, 0, 0, 0], [3, 0, 0, 0], [0, 2, 0, 1]], np.float64)


def drawn(
    rng: np.random.Generator, sizes: list[int], shares: list[float], shift: float = 0.0
) -> list[NDArray[np.float64]]:
    """Clients' examples: label in the first column, features behind it."""
    clients = []
    for size in sizes:
        labels = rng.choice(LABELS, size=size, p=shares)
        clients.append(np.column_stack([labels, CENTRES[labels] + shift + rng.normal(size=(size, FEATURES))]))
    return clients


def moments_by_loops(clients: list[NDArray[np.float64]]) -> Moments:
    """By loops over examples: another way than that of the package."""
    counts = np.zeros((len(clients), LABELS), np.int64)
    means = np.zeros((len(clients), LABELS, FEATURES), np.float32)
    variances = np.zeros((len(clients), LABELS), np.float32)
    for row, examples in enumerate(clients):
        for label in range(LABELS):
            own = [example[1:] for example in examples if example[0] == label]
            counts[row, label] = len(own)
            if own:
                means[row, label] = sum(own) / len(own)
            if len(own) > 1:
                variances[row, label] = np.cov(np.array(own).T).trace() / len(own)
    return Moments(tuple(f"c{number:02}" for number in range(len(clients))), counts, means, variances)


def test_joint_is_the_distance_of_mean_vectors_less_their_noise() -> None:
    """Brute force: every example as onehot(label) x [1, features]; means, and their covariances' traces."""
    clients = drawn(np.random.default_rng(0), [4000, 4000], [0.2, 0.3, 0.5])
    clients += drawn(np.random.default_rng(1), [4000], [0.5, 0.4, 0.1], shift=1.0)
    whole = [
        np.array([np.outer(np.eye(LABELS)[int(each[0])], [1, *each[1:]]).reshape(-1) for each in examples])
        for examples in clients
    ]
    apart = moment_distances("joint", moments_by_loops(clients))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        noise = [np.cov(whole[each].T).trace() / 4000 for each in (one, other)]
        expected = np.sum((whole[one].mean(axis=0) - whole[other].mean(axis=0)) ** 2) - sum(noise)
        assert apart.squared[one, other] == pytest.approx(expected, abs=2e-5)
        np.testing.assert_allclose(apart.noise[[one, other]], noise, rtol=1e-2)


def test_conditional_compares_shared_labels_only() -> None:
    """By hand: a and b share label 0 (weight sqrt(4 x 9) = 6) and label 1 (weight sqrt(1 x 4) = 2)."""
    counts = np.array([[4, 1, 0], [9, 4, 5], [0, 0, 7]], np.int64)
    means = np.zeros((3, 3, 1), np.float32)
    means[:, :, 0] = [[1, 5, 0], [4, 6, 9], [0, 0, 9]]
    apart = moment_distances("conditional", Moments(("a", "b", "c"), counts, means, np.zeros((3, 3), np.float32)))
    assert apart.squared[0, 1] == pytest.approx((6 * 9 + 2 * 1) / 8, rel=1e-6)
    assert apart.squared[1, 2] == pytest.approx(0, abs=1e-6)
    assert apart.comparable is not None
    assert apart.comparable.tolist() == [[True, True, False], [True, True, True], [False, True, True]]


@pytest.mark.parametrize("kind", ["joint", "conditional"])
@pytest.mark.parametrize("sizes", [[8] * 60, [200] * 60, [5, 500] * 30])
def test_two_samples_of_one_distribution_are_0_apart_on_average(kind: str, sizes: list[int]) -> None:
    """Over ten federations of 1,770 pairs each; a plain squared distance would be as large as the noise."""
    shares = []
    for seed in range(10):
        clients = drawn(np.random.default_rng(seed), sizes, [0.2, 0.3, 0.5])
        apart = moment_distances(kind, moments_by_loops(clients))
        pairs = np.triu(np.ones((60, 60), bool) if apart.comparable is None else apart.comparable, 1)
        noise = (apart.noise[:, None] + apart.noise[None, :])[pairs]
        shares.append(apart.squared[pairs].mean() / noise.mean())
    assert abs(np.mean(shares)) < 0.12


@pytest.mark.parametrize("kind", ["joint", "conditional"])
def test_noise_that_is_told_leaves_distances_unbiased(kind: str) -> None:
    """Without being told it would be subtracted by a fifth only: noise of two standard errors is four fifths of all."""
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        plain = moments_by_loops(drawn(rng, [50] * 60, [0.2, 0.3, 0.5]))
        each = [
            add_noise((plain.counts[row], plain.means[row], plain.variances[row]), 2.0, rng)
            for row in range(len(plain.clients))
        ]
        counts, means, variances = (np.array(part) for part in zip(*each, strict=True))
        noisy = Moments(plain.clients, counts, means, variances)
        apart = moment_distances(kind, noisy)
        pairs = np.triu(np.ones((60, 60), bool), 1)
        shares.append(apart.squared[pairs].mean() / (apart.noise[:, None] + apart.noise[None, :])[pairs].mean())
    assert abs(np.mean(shares)) < 0.12


@pytest.mark.parametrize("kind", ["joint", "conditional"])
def test_a_client_is_known_by_its_id_and_not_by_its_place(kind: str) -> None:
    moments = moments_by_loops(drawn(np.random.default_rng(3), [20, 30, 40, 50], [0.2, 0.3, 0.5]))
    turned = moment_distances(kind, moments.of(reversed(moments.clients)))
    assert turned.clients == moments.clients[::-1]
    np.testing.assert_allclose(turned.squared[::-1, ::-1], moment_distances(kind, moments).squared, rtol=0, atol=1e-5)


def test_a_lie_about_a_variance_is_clipped() -> None:
    """Otherwise a claim of 100,000 times as much noise takes everything off the liar's distances."""
    moments = moments_by_loops(drawn(np.random.default_rng(4), [100] * 20, [0.2, 0.3, 0.5]))
    lie = moments.variances.copy()
    lie[0] *= 100_000
    lied = Moments(moments.clients, moments.counts, moments.means, lie)
    honest = example_variances(moments)
    assert example_variances(lied)[0].max() <= MAX_VARIANCE_FACTOR * np.median(honest) * 1.5
    least = -MAX_VARIANCE_FACTOR * moment_distances("joint", moments).noise.max() * 1.5
    assert moment_distances("joint", lied).squared[0, 1:].min() > least


def test_a_huge_mean_costs_the_others_no_digit() -> None:
    moments = moments_by_loops(drawn(np.random.default_rng(5), [100] * 20, [0.2, 0.3, 0.5]))
    lie = moments.means.copy()
    lie[0] = 1e9
    lied = Moments(moments.clients, moments.counts, lie, moments.variances)
    for kind in ("joint", "conditional"):
        lied_to, honest = (moment_distances(kind, each).squared[1:, 1:] for each in (lied, moments))
        np.testing.assert_allclose(lied_to, honest, rtol=0, atol=1e-4)


def test_pooled_moments_are_those_of_all_examples() -> None:
    clients = drawn(np.random.default_rng(6), [20, 30, 40], [0.2, 0.3, 0.5])
    together = moments_by_loops([np.concatenate(clients[:2]), clients[2]])
    pooled = moments_by_loops(clients).pool_groups([["c00", "c01"], ["c02"]], ["x", "y"])
    assert pooled.clients == ("x", "y")
    assert pooled.counts.tolist() == together.counts.tolist()
    np.testing.assert_allclose(pooled.means, together.means, rtol=0, atol=1e-5)
    np.testing.assert_allclose(pooled.variances, together.variances, rtol=0.2)  # of 50 examples, each way


def test_joined_moments_are_the_newest_of_each_client() -> None:
    old = moments_by_loops(drawn(np.random.default_rng(7), [20, 30], [0.2, 0.3, 0.5]))
    new = moments_by_loops(drawn(np.random.default_rng(8), [5, 6, 7], [0.2, 0.3, 0.5])).of(["c02", "c01"])
    joined = old.merge(new)
    assert joined.clients == ("c00", "c01", "c02")
    assert joined.counts.sum(axis=1).tolist() == [20, 6, 7]


def test_a_client_without_moments_is_named() -> None:
    zeros = np.zeros((2, 1, 1), np.float32), np.zeros((2, 1), np.float32)
    with pytest.raises(InputError, match='"b" has no moments'):
        moment_distances("joint", Moments(("a", "b"), np.array([[1], [0]]), *zeros))


def test_moments_must_fit_together() -> None:
    with pytest.raises(InputError, match="moments do not fit together"):
        Moments(("a",), np.zeros((1, 2), np.int64), np.zeros((1, 3, 4), np.float32), np.zeros((1, 2), np.float32))


def moments_of(federation: Federation, min_examples: int = 1) -> Moments:
    summaries = [
        moments(part, "public", federation.task.kinds_of(part.labels), min_examples)
        for part in (federation[client].train for client in federation.clients)
    ]
    counts, means, variances = (np.array(each) for each in zip(*summaries, strict=True))
    return Moments(federation.clients, counts, means, variances)


def world(name: str, seed: int = 0, **settings: object) -> Federation:
    return fc.data.build(source="digits", world=name, seed=seed, clients=20, **settings)


def truth_of(federation: Federation) -> Groups:
    assert federation.truth is not None
    return federation.truth


def among(groups: Groups, clients: Sequence[ClientId]) -> Groups:
    return Groups.from_labels({client: groups.labels[client] for client in clients})


def with_outlier(whole: Moments, row: int) -> Moments:
    means = whole.means.copy()
    means[row] += 50 * (whole.counts[row, :, None] > 0)
    return Moments(whole.clients, whole.counts, means, whole.variances)


@pytest.mark.parametrize("name", ["classes", "rotation", "label-permutation"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_groups_are_found(name: str, seed: int) -> None:
    federation = world(name, seed, groups=4)
    found = groups_of_moments(moments_of(federation))
    assert found.partition == federation.truth
    assert (found.has_groups, found.count, found.outliers) == (True, 4, ())
    assert 0.55 <= found.confidence <= 1


@pytest.mark.parametrize(("name", "settings"), [("iid", {}), ("dirichlet", {"alpha": 0.5}), ("quantity", {})])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_groups_are_one_group(name: str, settings: dict[str, object], seed: int) -> None:
    found = groups_of_moments(moments_of(world(name, seed, **settings)))
    assert (found.has_groups, found.count, len(found.partition.clients)) == (False, 1, 20)


def test_each_distance_sees_where_the_other_is_blind() -> None:
    classes = groups_of_moments(moments_of(world("classes", groups=4)))
    assert classes.distance == "joint"
    assert classes.separations["conditional"] < 0.55
    turned = fc.data.build(source="digits", world="rotation", clients=12, groups=2, skew=1.0)
    skewed = groups_of_moments(moments_of(turned))
    assert skewed.distance == "conditional"
    assert skewed.separations["joint"] < 0.55


def test_leaving_some_out_leaves_the_others_as_they_were() -> None:
    federation = world("rotation", groups=4)
    stay = [client for number, client in enumerate(federation.clients) if number % 5]
    assert groups_of_moments(moments_of(federation).of(stay)).partition == among(truth_of(federation), stay)


def test_the_order_of_clients_does_not_matter() -> None:
    whole = moments_of(world("classes", groups=4))
    one, other = groups_of_moments(whole), groups_of_moments(whole.of(reversed(whole.clients)))
    assert (one.partition, one.order, one.clients) == (other.partition, other.order, whole.clients)
    assert other.clients == whole.clients
    np.testing.assert_allclose(one.squared, other.squared)


def test_liars_do_not_move_the_honest() -> None:
    """One claims absurd means, one absurd certainty, one absurd noise."""
    federation = world("classes", groups=4)
    whole = moments_of(federation)
    means, variances = whole.means.copy(), whole.variances.copy()
    means[0] = np.where(whole.counts[0, :, None] > 0, 1e9, 0)
    variances[1] = 0
    variances[2] *= 100_000
    found = groups_of_moments(Moments(whole.clients, whole.counts, means, variances))
    honest = federation.clients[3:]
    assert among(found.partition, honest) == among(truth_of(federation), honest)
    assert found.outliers == (federation.clients[0],)


def test_a_client_unlike_all_others_is_an_outlier() -> None:
    whole = moments_of(world("iid"))
    found = groups_of_moments(with_outlier(whole, 7))
    assert (found.outliers, found.count) == ((whole.clients[7],), 1)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_very_few_clients_are_one_group(count: int) -> None:
    whole = moments_of(world("iid"))
    found = groups_of_moments(whole.of(whole.clients[:count]))
    assert (found.groups, found.outliers) == ((whole.clients[:count],), ())


@pytest.mark.parametrize("name", ["classes", "rotation"])
def test_some_landmarks_place_the_rest(name: str) -> None:
    federation = fc.data.build(source="digits", world=name, clients=40, groups=4)
    whole = moments_of(federation)
    found = groups_of_moments(whole, GroupSearch(max_compared=20))
    assert found.partition == groups_of_moments(whole).partition == federation.truth
    assert (len(found.clients), found.squared.shape) == (20, (20, 20))


def test_an_outlier_among_the_rest_is_found() -> None:
    whole = moments_of(world("iid"))
    first = groups_of_moments(whole, GroupSearch(max_compared=10))
    client = next(each for each in whole.clients if each not in first.clients)
    far = with_outlier(whole, whole.clients.index(client))
    assert groups_of_moments(far, GroupSearch(max_compared=10)).outliers == (client,)
    assert len(groups_of_moments(far, GroupSearch(max_compared=10, groups=2)).partition) == 2


def test_nobody_is_an_error() -> None:
    with pytest.raises(InputError, match="there is no client to compare"):
        groups_of_moments(moments_of(world("iid")).of(()))


def placed(federation: Federation, late: list[ClientId]) -> tuple[Groups, dict[ClientId, int | None]]:
    whole = moments_of(federation)
    stay = whole.of(client for client in whole.clients if client not in late)
    found = groups_of_moments(stay)
    return found.partition, moment_places(found.distance, stay, found.partition.members).nearest(whole.of(late))


@pytest.mark.parametrize("name", ["classes", "rotation", "label-permutation"])
def test_newcomers_are_placed_with_their_group_or_with_none_if_it_is_new(name: str) -> None:
    federation = world(name, groups=4)
    truth = truth_of(federation)
    groups, places = placed(federation, [members[-1] for members in truth.members])
    for client, group in places.items():
        assert group is not None
        assert {truth.labels[member] for member in groups.members[group]} == {truth.labels[client]}
    assert set(placed(federation, list(truth.members[1]))[1].values()) == {None}


def test_where_all_are_alike_a_newcomer_is_too() -> None:
    federation = world("iid")
    assert set(placed(federation, list(federation.clients[::4]))[1].values()) == {0}


def test_a_client_with_the_data_of_two_groups_does_not_merge_them() -> None:
    federation = world("classes", groups=4)
    whole = moments_of(federation)
    both = whole.pool_groups([[members[0] for members in truth_of(federation).members[:2]]], ["x-both"])
    assert among(groups_of_moments(whole.merge(both)).partition, federation.clients) == federation.truth


def many(clients: int, seed: int, shift: bool) -> tuple[Moments, list[int]]:
    """Drawn clients with 12 labels: four groups with labels of their own, or with all labels but other means."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=clients)
    centres = rng.normal(size=(4 if shift else 1, 12, 8))
    shares = np.full((4, 12), 1 / 12) if shift else np.kron(np.eye(4), np.full((1, 3), 1 / 3))
    counts = np.array([rng.multinomial(60, shares[each]) for each in group])
    error = 1 / np.sqrt(np.maximum(counts, 1))
    means = centres[group if shift else 0] + rng.normal(size=(clients, 12, 8)) * error[:, :, None]
    summaries = Moments(
        tuple(f"c{number:03}" for number in range(clients)),
        counts,
        np.where(counts[:, :, None] > 0, means, 0).astype(np.float32),
        np.where(counts > 1, 8 * error**2, 0).astype(np.float32),
    )
    return summaries, group.tolist()


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_quarter_as_landmarks_agrees_with_all_distances(seed: int, shift: bool) -> None:
    summaries, group = many(400, seed, shift)
    few, all_of = groups_of_moments(summaries, GroupSearch(max_compared=100)), groups_of_moments(summaries)
    labels = [[found.partition.labels[client] for client in summaries.clients] for found in (few, all_of)]
    assert len(few.clients) == 100
    assert adjusted_rand_score(*labels) >= 0.98
    assert adjusted_rand_score(labels[0], group) >= 0.98


def moments_of_numbers(slopes: list[float], seed: int, examples: int = 60, features: int = 3) -> Moments:
    """Clients whose number is a slope times the first of some features, and noise."""
    rng = np.random.default_rng(seed)
    task = Task(kind="regression", labels="number", edges=(-0.4, 0.4))
    found = []
    for slope in slopes:
        inputs = rng.normal(size=(examples, features))
        numbers = (slope * inputs[:, 0] + 0.5 * rng.normal(size=examples)).astype(np.float32)
        found.append(label_moments(inputs, task.kinds_of(numbers), task.numbers_of(numbers)))
    counts, means, variances = (np.stack(each) for each in zip(*found, strict=True))
    names = tuple(f"c{number:02}" for number in range(len(slopes)))
    return Moments(names, counts, means.astype(np.float32), variances.astype(np.float32), has_products=True)


def test_products_are_all_examples_each_times_its_number() -> None:
    """Numbers 1, 2 and -4, which counts as -3: products (1, 0), (0, 2), (-3, 3), mean (-2/3, 5/3)."""
    task = Task(kind="regression", labels="number", edges=(0.0,))
    numbers = np.array([1, 2, -4], np.float32)
    inputs = np.array([[1.0, 0], [0, 1], [1, -1]])
    counts, means, variances = label_moments(inputs, task.kinds_of(numbers), task.numbers_of(numbers))
    assert counts.tolist() == [1, 2, 3]
    np.testing.assert_allclose(means, np.array([[1, -1], [0.5, 0.5], [-2 / 3, 5 / 3]]))
    np.testing.assert_allclose(variances[2], (13 / 3 + 7 / 3) / 3)  # of (1, 0, -3) and of (0, 2, 3)


def test_products_tell_slopes_without_bias() -> None:
    """With slopes 0.5 and -0.5 the means of number x feature are these: 1 apart, squared. Alike: 0 in the mean."""
    apart = [
        moment_distances("product", moments_of_numbers([0.5, 0.5, -0.5, -0.5], seed)).squared for seed in range(40)
    ]
    mean = np.mean(apart, axis=0)
    assert mean[0, 2] == pytest.approx(1, abs=0.1)
    assert mean[0, 1] == pytest.approx(0, abs=0.03)


def test_products_find_groups_that_intervals_do_not() -> None:
    """The slope of one of twelve features is turned around: the others hide it in thirds of 35 examples."""
    moments = moments_of_numbers([0.5, -0.5] * 4, 0, examples=35, features=12)
    found = groups_of_moments(moments)
    assert found.distance == "product"
    assert [members[0] for members in found.groups] == ["c00", "c01"]
    assert found.count == 2
    assert not groups_of_moments(moments.labels_alone()).has_groups
    places = moment_places(found.distance, moments, found.partition.members)
    newcomer = replace(moments_of_numbers([-0.5], 9, examples=35, features=12), clients=("new",))
    assert places.nearest(newcomer) == {"new": 1}


def test_numbers_that_are_alike_make_no_groups() -> None:
    found = [groups_of_moments(moments_of_numbers([0.8] * 8, seed)).has_groups for seed in range(20)]
    assert not any(found)
