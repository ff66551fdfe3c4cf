"""Class moments are told label by label, and a token changes with the data."""

import numpy as np

from fedclade.data import Part, Pool
from fedclade.local.moments import moments, token_of
from fedclade.nouns import Round

NOW = Round(0, 0)
POOL = Pool(np.array([[0, 0], [2, 4], [4, 2], [7, 7], [1, 1]], np.float32), np.array([0, 0, 0, 2, 1], np.int64))


def part(*index: int) -> Part:
    return Part(POOL, np.array(index, np.int64))


def test_moments_by_hand() -> None:
    """Label 0: (0,0), (2,4), (4,2): mean (2, 2), each feature varies by (4 + 0 + 4) / 2 = 4, so 8 in all, over 3."""
    counts, means, variances = moments(part(0, 1, 2, 3), "pixels", 4, 1)
    assert counts.tolist() == [3, 0, 1, 0]
    assert means.tolist() == [[2, 2], [0, 0], [7, 7], [0, 0]]
    np.testing.assert_allclose(variances, [8 / 3, 0, 0, 0], rtol=1e-6)
    assert [each.dtype for each in (counts, means, variances)] == ["int64", "float32", "float32"]


def test_rare_labels_are_not_told() -> None:
    counts, means, variances = moments(part(0, 1, 2, 3), "pixels", 3, 2)
    assert counts.tolist() == [3, 0, 0]
    assert not means[2].any()
    assert not variances[2]


def test_a_token_knows_its_data_again() -> None:
    token = token_of(part(0, 1), NOW, "a")
    assert token_of(part(0, 1), Round(9, 0), "a") == token  # in another round
    others = [
        token_of(part(0, 2), NOW, "a"),
        token_of(part(1, 0), NOW, "a"),
        token_of(part(0, 1), NOW, "b"),  # who has the same data as somebody else cannot be seen
        token_of(part(0, 1), Round(0, 1), "a"),
        token_of(Part(POOL, np.array([0, 1]), relabel=np.array([1, 0, 2])), NOW, "a"),
    ]
    assert token not in others
    assert all(-(2**63) <= each < 2**63 for each in others)
