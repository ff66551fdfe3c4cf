"""A basis from sums: by hand, against scikit-learn, and whoever the sums come from."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fedclade.nouns import InputError
from fedclade.relate.components import principal


def test_a_line_by_hand() -> None:
    """(1, 1), (3, 3) and (5, 5): the middle is (3, 3), and all of the variance lies along the diagonal."""
    basis, share = principal(3, np.array([9.0, 9.0]), np.full((2, 2), 35.0), 1)
    np.testing.assert_allclose(basis, [[3, 3], [np.sqrt(0.5), np.sqrt(0.5)]], atol=1e-6)
    assert share == pytest.approx(1)
    assert basis.dtype == np.float32


def test_it_is_scikit_learns_of_all_examples_together() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(30, 6)) @ rng.normal(size=(6, 6)) + 3 for _ in range(4)]
    sums = sum(part.sum(axis=0) for part in parts)
    products = sum(part.T @ part for part in parts)
    basis, share = principal(120, sums, products, 3)  # type: ignore[arg-type]  # sums of arrays
    theirs = PCA(3).fit(np.concatenate(parts))
    np.testing.assert_allclose(basis[0], theirs.mean_, atol=1e-5)
    np.testing.assert_allclose(np.abs((basis[1:] * theirs.components_).sum(axis=1)), 1, atol=1e-5)  # up to a sign
    assert (basis[1:][np.arange(3), np.abs(basis[1:]).argmax(axis=1)] > 0).all()
    assert share == pytest.approx(theirs.explained_variance_ratio_.sum(), abs=1e-9)


def test_never_more_components_than_features_and_never_of_one_example() -> None:
    assert principal(3, np.array([9.0, 9.0]), np.full((2, 2), 35.0), 128)[0].shape == (3, 2)
    with pytest.raises(InputError, match="no basis of so few examples"):
        principal(1, np.ones(2), np.ones((2, 2)), 1)
