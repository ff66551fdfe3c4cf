"""A client's part in a basis, and its place in one: by hand."""

import numpy as np
from sklearn.decomposition import PCA

from fedclade.client.principal_components import choose_projection, project_on_own_components, scatter
from fedclade.client.sketch import sketch
from fedclade.data import Part, Pool

POOL = Pool(np.array([[1, 2], [3, 4], [5, 0], [9, 9]], np.float32), np.zeros(4, np.int64))
NOTHING = np.zeros((0, 0), np.float32)


def test_sums_by_hand() -> None:
    """(1, 2), (3, 4), (5, 0): 1 + 9 + 25 = 35, 2 + 12 + 0 = 14, 4 + 16 + 0 = 20."""
    total, products = scatter(Part(POOL, np.array([0, 1, 2])), "pixels")
    assert total.tolist() == [9, 6]
    assert products.tolist() == [35, 14, 20]  # the upper triangle, row by row
    assert [each.dtype for each in (total, products)] == ["float64", "float32"]


def test_places_in_a_basis_by_hand() -> None:
    """From the middle (1, 2), along (0, 1) and (3/5, 4/5)."""
    basis = np.array([[1, 2], [0, 1], [0.6, 0.8]], np.float32)
    placed = choose_projection(basis, 0)(POOL.inputs[:3].astype(np.float32))
    np.testing.assert_allclose(placed, [[0.0, 0.0], [2.0, 2.8], [-2.0, 0.8]], atol=1e-6)
    assert choose_projection(NOTHING, 0)(POOL.inputs[:3].astype(np.float32)).tolist() == POOL.inputs[:3].tolist()


def test_own_components_are_scikit_learns_and_end_where_examples_do() -> None:
    encoded = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    mine, theirs = project_on_own_components(encoded, 3), PCA(3).fit_transform(encoded)
    np.testing.assert_allclose(np.abs(mine), np.abs(theirs), atol=1e-5)
    wide = choose_projection(NOTHING, 7)(encoded)
    assert wide.shape == (5, 7)
    np.testing.assert_allclose(wide[:, 4:], 0, atol=1e-5)  # five examples lie in four dimensions


def test_own_axes_cannot_be_compared() -> None:
    """(0, 0) and (2, 0) at one client, (0, 0) and (0, 2) at the other: in their own axes they look the same."""
    one, other = np.array([[0, 0], [2, 0]], np.float32), np.array([[0, 0], [0, 2]], np.float32)
    np.testing.assert_allclose(project_on_own_components(one, 1), [[-1], [1]], atol=1e-6)
    np.testing.assert_allclose(project_on_own_components(other, 1), [[-1], [1]], atol=1e-6)
    basis = np.array([[0, 0], [1, 0], [0, 1]], np.float32)
    assert choose_projection(basis, 0)(one).tolist() == one.tolist()
    assert choose_projection(basis, 0)(other).tolist() == other.tolist()


def test_a_sketch_in_a_basis_is_of_the_placed_examples() -> None:
    """Of (1, 2) and (9, 9), two points along (0, 1): 2 and 9."""
    basis = np.array([[0, 0], [0, 1]], np.float32)
    placed = choose_projection(basis, 0)(POOL.inputs[[0, 3]].astype(np.float32))
    points, counts = sketch(placed, 5, np.random.default_rng(0))
    assert sorted(points.ravel().tolist()) == [2, 9]
    assert counts.tolist() == [1, 1]
