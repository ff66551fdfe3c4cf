"""The one-shot step on planted groups, without them, and with liars; and where newcomers belong."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import fedclade as fc
from fedclade.data import Federation
from fedclade.local.moments import moments
from fedclade.nouns import ClientId, Groups, InputError, Moments
from fedclade.relate.discovery import discover
from fedclade.relate.places import atlas


def moments_of(federation: Federation, fewest: int = 1) -> Moments:
    told = [moments(federation[client].train, "public", federation.classes, fewest) for client in federation.clients]
    counts, means, variances = (np.array(each) for each in zip(*told, strict=True))
    return Moments(federation.clients, counts, means, variances)


def world(name: str, seed: int = 0, **settings: object) -> Federation:
    return fc.data.build(source="digits", world=name, seed=seed, clients=20, **settings)


@pytest.mark.parametrize("name", ["classes", "rotation", "label-permutation"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_groups_are_found(name: str, seed: int) -> None:
    federation = world(name, seed, groups=4)
    found = discover(moments_of(federation))
    assert found.partition == federation.truth
    assert found.passed
    assert found.count == 4
    assert found.outliers == ()
    assert 0.55 <= found.confidence <= 1


@pytest.mark.parametrize(("name", "settings"), [("iid", {}), ("dirichlet", {"alpha": 0.5}), ("quantity", {})])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_groups_are_one_group(name: str, settings: dict[str, object], seed: int) -> None:
    found = discover(moments_of(world(name, seed, **settings)))
    assert not found.passed
    assert found.count == 1
    assert len(found.partition.clients) == 20


def test_each_distance_sees_where_the_other_is_blind() -> None:
    classes = discover(moments_of(world("classes", groups=4)))
    assert classes.kind == "joint"
    assert classes.gates["conditional"] < 0.55
    skewed = discover(moments_of(fc.data.build(source="digits", world="rotation", clients=12, groups=2, skew=1.0)))
    assert skewed.kind == "conditional"
    assert skewed.gates["joint"] < 0.55


def test_leaving_some_out_leaves_the_others_as_they_were() -> None:
    federation = world("rotation", groups=4)
    whole = moments_of(federation)
    stay = [client for number, client in enumerate(federation.clients) if number % 5]
    assert federation.truth is not None
    labels = federation.truth.labels
    assert discover(whole.of(stay)).partition == Groups.from_labels({client: labels[client] for client in stay})


def test_the_order_of_clients_does_not_matter() -> None:
    whole = moments_of(world("classes", groups=4))
    one, other = discover(whole), discover(whole.of(reversed(whole.clients)))
    assert one.partition == other.partition
    assert one.order == other.order
    assert one.clients == other.clients == whole.clients
    np.testing.assert_allclose(one.squared, other.squared)


def test_liars_do_not_move_the_honest() -> None:
    """One claims absurd means, one absurd certainty, one absurd noise."""
    federation = world("classes", groups=4)
    whole = moments_of(federation)
    means, variances = whole.means.copy(), whole.variances.copy()
    means[0] = np.where(whole.counts[0, :, None] > 0, 1e9, 0)
    variances[1] = 0
    variances[2] *= 100_000
    found = discover(Moments(whole.clients, whole.counts, means, variances))
    assert federation.truth is not None
    truth = federation.truth.labels
    honest = federation.clients[3:]
    labels = found.partition.labels
    assert Groups.from_labels({client: labels[client] for client in honest}) == Groups.from_labels(
        {client: truth[client] for client in honest}
    )
    assert found.outliers == (federation.clients[0],)


def test_a_stray_among_alike_is_an_outlier() -> None:
    whole = moments_of(world("iid"))
    means = whole.means.copy()
    means[7] += 50 * (whole.counts[7, :, None] > 0)
    found = discover(Moments(whole.clients, whole.counts, means, whole.variances))
    assert found.outliers == (whole.clients[7],)
    assert found.count == 1


@pytest.mark.parametrize("count", [1, 2, 3])
def test_very_few_clients_are_one_group(count: int) -> None:
    whole = moments_of(world("iid"))
    found = discover(whole.of(whole.clients[:count]))
    assert found.groups == (whole.clients[:count],)
    assert found.outliers == ()


@pytest.mark.parametrize("name", ["classes", "rotation"])
def test_some_landmarks_place_the_rest(name: str) -> None:
    federation = fc.data.build(source="digits", world=name, clients=40, groups=4)
    whole = moments_of(federation)
    found = discover(whole, landmarks=20)
    assert found.partition == discover(whole).partition == federation.truth
    assert len(found.clients) == 20
    assert found.squared.shape == (20, 20)


def test_a_stranger_among_the_rest_is_an_outlier() -> None:
    whole = moments_of(world("iid"))
    first = discover(whole, landmarks=10)
    client = next(each for each in whole.clients if each not in first.clients)
    row = whole.clients.index(client)
    means = whole.means.copy()
    means[row] += 50 * (whole.counts[row, :, None] > 0)
    found = discover(Moments(whole.clients, whole.counts, means, whole.variances), landmarks=10)
    assert found.outliers == (client,)
    told = Moments(whole.clients, whole.counts, means, whole.variances)
    assert len(discover(told, landmarks=10, groups=2).partition) == 2, "as many as were asked for"


def test_nobody_is_an_error() -> None:
    with pytest.raises(InputError, match="nobody to compare"):
        discover(moments_of(world("iid")).of(()))


def placed(federation: Federation, late: list[ClientId]) -> tuple[Groups, dict[ClientId, int | None]]:
    whole = moments_of(federation)
    stay = whole.of(client for client in whole.clients if client not in late)
    found = discover(stay)
    return found.partition, atlas(found.kind, stay, found.partition.members).nearest(whole.of(late))


@pytest.mark.parametrize("name", ["classes", "rotation", "label-permutation"])
def test_newcomers_are_placed_with_their_group(name: str) -> None:
    federation = world(name, groups=4)
    assert federation.truth is not None
    truth = federation.truth.labels
    groups, places = placed(federation, [members[-1] for members in federation.truth.members])
    for client, group in places.items():
        assert group is not None
        assert {truth[member] for member in groups.members[group]} == {truth[client]}


@pytest.mark.parametrize("name", ["classes", "rotation", "label-permutation"])
def test_a_newcomer_of_an_unseen_group_is_unlike_anybody(name: str) -> None:
    federation = world(name, groups=4)
    assert federation.truth is not None
    _, places = placed(federation, list(federation.truth.members[1]))
    assert set(places.values()) == {None}


def test_where_all_are_alike_a_newcomer_is_too() -> None:
    federation = world("iid")
    _, places = placed(federation, list(federation.clients[::4]))
    assert set(places.values()) == {0}


def test_a_client_with_the_data_of_two_groups_does_not_merge_them() -> None:
    federation = world("classes", groups=4)
    assert federation.truth is not None
    whole = moments_of(federation)
    one, other = (members[0] for members in federation.truth.members[:2])
    both = whole.pooled([[one, other]], ["x-both"])
    found = discover(whole.joined(both))
    labels = found.partition.labels
    assert Groups.from_labels({client: labels[client] for client in federation.clients}) == federation.truth


def many(clients: int, seed: int, shift: bool) -> tuple[Moments, list[int]]:
    """Drawn clients with 12 labels: four groups with labels of their own, or with all labels but other means."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=clients)
    centres = rng.normal(size=(4 if shift else 1, 12, 8))
    shares = np.full((4, 12), 1 / 12) if shift else np.kron(np.eye(4), np.full((1, 3), 1 / 3))
    counts = np.array([rng.multinomial(60, shares[each]) for each in group])
    error = 1 / np.sqrt(np.maximum(counts, 1))
    means = centres[group if shift else 0] + rng.normal(size=(clients, 12, 8)) * error[:, :, None]
    told = Moments(
        tuple(f"c{number:03}" for number in range(clients)),
        counts,
        np.where(counts[:, :, None] > 0, means, 0).astype(np.float32),
        np.where(counts > 1, 8 * error**2, 0).astype(np.float32),
    )
    return told, group.tolist()


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_quarter_as_landmarks_agrees_with_all_distances(seed: int, shift: bool) -> None:
    told, group = many(400, seed, shift)
    few, all_of = discover(told, landmarks=100), discover(told)
    labels = [[found.partition.labels[client] for client in told.clients] for found in (few, all_of)]
    assert len(few.clients) == 100
    assert adjusted_rand_score(*labels) >= 0.98
    assert adjusted_rand_score(labels[0], group) >= 0.98
