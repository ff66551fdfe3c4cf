"""Distances from class moments: unbiased, whatever the sizes, and the same as by brute force."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.local.moments import blurred
from fedclade.nouns import InputError, Moments
from fedclade.relate.moments import CLIP, Apart, conditional, joint, spread

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


def moments_of(clients: list[NDArray[np.float64]]) -> Moments:
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
    apart = joint(moments_of(clients))
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
    apart = conditional(Moments(("a", "b", "c"), counts, means, np.zeros((3, 3), np.float32)))
    assert apart.squared[0, 1] == pytest.approx((6 * 9 + 2 * 1) / 8, rel=1e-6)
    assert apart.squared[1, 2] == pytest.approx(0, abs=1e-6)
    assert apart.known is not None
    assert apart.known.tolist() == [[True, True, False], [True, True, True], [False, True, True]]


@pytest.mark.parametrize("kind", [joint, conditional])
@pytest.mark.parametrize("sizes", [[8] * 60, [200] * 60, [5, 500] * 30])
def test_two_samples_of_one_distribution_are_0_apart_on_average(kind, sizes: list[int]) -> None:  # type: ignore[no-untyped-def]
    """Over ten federations of 1,770 pairs each; a plain squared distance would be as large as the noise."""
    shares = []
    for seed in range(10):
        apart: Apart = kind(moments_of(drawn(np.random.default_rng(seed), sizes, [0.2, 0.3, 0.5])))
        pairs = np.triu(np.ones((60, 60), bool) if apart.known is None else apart.known, 1)
        noise = (apart.noise[:, None] + apart.noise[None, :])[pairs]
        shares.append(apart.squared[pairs].mean() / noise.mean())
    assert abs(np.mean(shares)) < 0.12


@pytest.mark.parametrize("kind", [joint, conditional])
def test_noise_that_is_told_leaves_distances_unbiased(kind) -> None:  # type: ignore[no-untyped-def]
    """Without being told it would be subtracted by a fifth only: noise of two standard errors is four fifths of all."""
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        plain = moments_of(drawn(rng, [50] * 60, [0.2, 0.3, 0.5]))
        each = [
            blurred(plain.counts[row], plain.means[row], plain.variances[row], 2.0, rng)
            for row in range(len(plain.clients))
        ]
        told = Moments(plain.clients, *(np.array(part) for part in zip(*each, strict=True)))
        apart: Apart = kind(told)
        pairs = np.triu(np.ones((60, 60), bool), 1)
        shares.append(apart.squared[pairs].mean() / (apart.noise[:, None] + apart.noise[None, :])[pairs].mean())
    assert abs(np.mean(shares)) < 0.12


@pytest.mark.parametrize("kind", [joint, conditional])
def test_a_client_is_known_by_its_id_and_not_by_its_place(kind) -> None:  # type: ignore[no-untyped-def]
    moments = moments_of(drawn(np.random.default_rng(3), [20, 30, 40, 50], [0.2, 0.3, 0.5]))
    turned = kind(moments.of(reversed(moments.clients)))
    assert turned.clients == moments.clients[::-1]
    np.testing.assert_allclose(turned.squared[::-1, ::-1], kind(moments).squared, rtol=0, atol=1e-5)


def test_a_lie_about_a_variance_is_clipped() -> None:
    """Otherwise a claim of 100,000 times as much noise takes everything off the liar's distances."""
    moments = moments_of(drawn(np.random.default_rng(4), [100] * 20, [0.2, 0.3, 0.5]))
    lie = moments.variances.copy()
    lie[0] *= 100_000
    lied = Moments(moments.clients, moments.counts, moments.means, lie)
    honest = spread(moments)
    assert spread(lied)[0].max() <= CLIP * np.median(honest) * 1.5
    assert joint(lied).squared[0, 1:].min() > -CLIP * joint(moments).noise.max() * 1.5


def test_a_huge_mean_costs_the_others_no_digit() -> None:
    moments = moments_of(drawn(np.random.default_rng(5), [100] * 20, [0.2, 0.3, 0.5]))
    lie = moments.means.copy()
    lie[0] = 1e9
    lied = Moments(moments.clients, moments.counts, lie, moments.variances)
    for kind in (joint, conditional):
        np.testing.assert_allclose(kind(lied).squared[1:, 1:], kind(moments).squared[1:, 1:], rtol=0, atol=1e-4)


def test_pooled_moments_are_those_of_all_examples() -> None:
    clients = drawn(np.random.default_rng(6), [20, 30, 40], [0.2, 0.3, 0.5])
    together = moments_of([np.concatenate(clients[:2]), clients[2]])
    pooled = moments_of(clients).pooled([["c00", "c01"], ["c02"]], ["x", "y"])
    assert pooled.clients == ("x", "y")
    assert pooled.counts.tolist() == together.counts.tolist()
    np.testing.assert_allclose(pooled.means, together.means, rtol=0, atol=1e-5)
    np.testing.assert_allclose(pooled.variances, together.variances, rtol=0.2)  # of 50 examples, each way


def test_joined_moments_are_the_newest_of_each_client() -> None:
    old = moments_of(drawn(np.random.default_rng(7), [20, 30], [0.2, 0.3, 0.5]))
    new = moments_of(drawn(np.random.default_rng(8), [5, 6, 7], [0.2, 0.3, 0.5])).of(["c02", "c01"])
    joined = old.joined(new)
    assert joined.clients == ("c00", "c01", "c02")
    assert joined.counts.sum(axis=1).tolist() == [20, 6, 7]


def test_somebody_without_moments_is_named() -> None:
    with pytest.raises(InputError, match='"b" has no moments'):
        joint(Moments(("a", "b"), np.array([[1], [0]]), np.zeros((2, 1, 1), np.float32), np.zeros((2, 1), np.float32)))


def test_moments_must_fit_together() -> None:
    with pytest.raises(InputError, match="moments do not fit together"):
        Moments(("a",), np.zeros((1, 2), np.int64), np.zeros((1, 3, 4), np.float32), np.zeros((1, 2), np.float32))
