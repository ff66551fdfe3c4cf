"""Class moments by hand, noise as large as was asked, and a token that changes with the data."""

import numpy as np
from numpy.typing import NDArray

from fedclade.client.moments import add_noise, moments, noise_rng, token_of
from fedclade.core import Round
from fedclade.core.task import Task
from fedclade.data import Part, Pool

NOW = Round(0, 0)
POOL = Pool(np.array([[0, 0], [2, 4], [4, 2], [7, 7], [1, 1]], np.float32), np.array([0, 0, 0, 2, 1], np.int64))


def part(*index: int) -> Part:
    return Part(POOL, np.array(index, np.int64))


def kinds(some: Part, classes: int) -> NDArray[np.bool_]:
    return Task(count=classes).kinds_of(some.labels)


def test_moments_by_hand() -> None:
    """Label 0: (0,0), (2,4), (4,2): mean (2, 2), each feature varies by (4 + 0 + 4) / 2 = 4, so 8 in all, over 3."""
    counts, means, variances = moments(part(0, 1, 2, 3), "pixels", kinds(part(0, 1, 2, 3), 4), 1)
    assert counts.tolist() == [3, 0, 1, 0]
    assert means.tolist() == [[2, 2], [0, 0], [7, 7], [0, 0]]
    np.testing.assert_allclose(variances, [8 / 3, 0, 0, 0], rtol=1e-6)
    assert [each.dtype for each in (counts, means, variances)] == ["int64", "float32", "float32"]


def test_rare_labels_are_not_told() -> None:
    counts, means, variances = moments(part(0, 1, 2, 3), "pixels", kinds(part(0, 1, 2, 3), 3), 2)
    assert counts.tolist() == [3, 0, 0]
    assert not means[2].any()
    assert not variances[2]


def test_a_token_knows_its_data_again() -> None:
    token = token_of(part(0, 1), NOW, "a")
    assert token_of(part(0, 1), Round(9, 0), "a") == token  # in another round
    others = [
        token_of(part(0, 2), NOW, "a"),
        token_of(part(1, 0), NOW, "a"),
        token_of(part(0, 1), NOW, "b"),  # that two clients have the same data cannot be seen
        token_of(part(0, 1), Round(0, 1), "a"),
        token_of(Part(POOL, np.array([0, 1]), relabel=np.array([1, 0, 2])), NOW, "a"),
    ]
    assert token not in others
    assert all(-(2**63) <= each < 2**63 for each in others)


def spread_out(counts: list[int], seed: int) -> Part:
    """So many examples of each label, of four features with variance 1."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(counts)), counts)
    return Part(Pool(rng.normal(size=(len(labels), 4)).astype(np.float32), labels), np.arange(len(labels)))


def test_noise_is_as_large_as_was_asked_and_is_told() -> None:
    """Spread 4 (four features), so the mean of 8 varies by 1/2, that of 200 by 1/50; twice the error, 4 times that."""
    moved = []
    for seed in range(300):
        own = spread_out([8, 0, 200], seed)
        exact = moments(own, "pixels", kinds(own, 3), 1)
        counts, means, variances = add_noise(exact, 2.0, noise_rng(own, "a"))
        assert counts.tolist() == [8, 0, 200]
        assert not means[1].any()
        moved.append([((means - exact[1]) ** 2).sum(axis=1), variances - exact[2]])
    for found in np.mean(moved, axis=0):
        np.testing.assert_allclose(found, [4 / 2, 0, 4 / 50], rtol=0.1)


def test_equal_examples_are_hidden_too_and_no_noise_changes_nothing() -> None:
    pool = Pool(np.array([[0, 0], [2, 4], [5, 5], [5, 5]], np.float32), np.array([0, 0, 1, 1]))
    own = Part(pool, np.arange(4))
    exact = moments(own, "pixels", kinds(own, 2), 1)
    assert add_noise(exact, 0.0, noise_rng(own, "a")) == exact
    _, means, variances = add_noise(exact, 1.0, noise_rng(own, "a"))
    assert (means[1] != [5, 5]).all()
    assert variances[1] > 0


def test_who_asks_twice_learns_nothing_more() -> None:
    def drawn(client: str, *index: int) -> list[float]:
        return noise_rng(part(*index), client).normal(size=3).tolist()  # type: ignore[no-any-return]  # numpy's lists

    assert drawn("a", 0, 1) == drawn("a", 0, 1)
    assert drawn("a", 0, 1) != drawn("a", 0, 2)
    assert drawn("a", 0, 1) != drawn("b", 0, 1)
