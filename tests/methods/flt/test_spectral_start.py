"""UMAP's spectral start: compared with scikit-learn's, and the same in every call where components are degenerate."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix
from sklearn.manifold import spectral_embedding
from sklearn.neighbors import kneighbors_graph

from fedclade.methods.flt import spectral_start as module
from fedclade.methods.flt.spectral_start import component_centres, laplacian_vectors, spectral_start


def cloud(count: int, seed: int) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).normal(size=(count, 6)) * np.arange(1, 7)).astype(np.float32)


def neighbours(points: NDArray[np.float32]) -> csr_matrix:
    graph = kneighbors_graph(points, 8)
    return csr_matrix(graph.maximum(graph.T))


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("max_dense", [2000, 0], ids=["exact", "iterated"])
def test_a_connected_graph_has_the_layout_of_scikit_learn(
    dimensions: int, max_dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to sign: scikit-learn divides the eigenvectors by the roots of the degrees, so they are multiplied again."""
    monkeypatch.setattr(module, "MAX_DENSE", max_dense)
    graph = neighbours(cloud(150, 0))
    roots = np.sqrt(np.asarray(graph.sum(axis=0)).ravel())
    theirs = spectral_embedding(graph, n_components=dimensions, random_state=0) * roots[:, None]
    ours = laplacian_vectors(graph, dimensions)
    cosines = ours.T @ (theirs / np.linalg.norm(theirs, axis=0))
    assert np.abs(cosines) == pytest.approx(np.eye(dimensions), abs=1e-3)
    assert (ours.max(axis=0) >= -ours.min(axis=0)).all(), "the largest entry is positive"
    start = spectral_start(graph, cloud(150, 0), dimensions, 0)
    assert start == pytest.approx(10 / np.abs(ours).max() * ours, abs=1e-3), "the largest is 10; noise is 0.0001"


def test_a_path_by_hand() -> None:
    """Of a path 1 - 2 - 3 the normalised Laplacian has the eigenvalues 0, 1 and 2; that of 1 is (1, 0, -1)."""
    path = csr_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float))
    assert np.abs(laplacian_vectors(path, 1)[:, 0]) == pytest.approx([0.5**0.5, 0, 0.5**0.5])


@pytest.mark.parametrize("count", [2, 4, 5, 9])
def test_components_stand_apart(count: int) -> None:
    """Equal components, far apart: the eigenvalues of all are the same, and no two of them lie at one place."""
    one = cloud(30, 1)
    shifts = 1000 * np.random.default_rng(2).normal(size=(count, 6))
    points = np.concatenate([one + shift for shift in shifts]).astype(np.float32)
    graph = csr_matrix(block_diag([neighbours(one)] * count))
    start, again = (spectral_start(graph, points, 2, 3) for _ in range(2))
    assert start.tobytes() == again.tobytes()
    assert start.tobytes() != spectral_start(graph, points, 2, 4).tobytes(), "the noise is of the seed"
    assert np.abs(start).max() == pytest.approx(10, abs=1e-3)
    labels = np.repeat(np.arange(count, dtype=np.int32), 30)
    centres, reach = component_centres(points, labels, 2)
    for number in range(count):
        others = np.delete(np.linalg.norm(centres - centres[number], axis=1), number)
        assert reach[number] == pytest.approx(others.min() / 2), "half of the way to the next"
    boxes = [(start[labels == number].min(axis=0), start[labels == number].max(axis=0)) for number in range(count)]
    middles = np.array([(low + high) / 2 for low, high in boxes])
    assert len(np.unique(middles.round(2), axis=0)) == count


def test_a_few_components_are_on_the_axes() -> None:
    """As in umap-learn: three in two dimensions are at (1, 0), (0, 1) and (-1, 0); half of the root of 2 apart."""
    centres, reach = component_centres(cloud(3, 0), np.arange(3, dtype=np.int32), 2)
    assert centres.tolist() == [[1, 0], [0, 1], [-1, 0]]
    assert reach == pytest.approx([0.5**0.5] * 3)


def test_a_component_of_few_points_is_drawn_around_its_centre() -> None:
    """Two components of three points each, centres (1, 0) and (-1, 0): the first within x > 0, the other in x < 0."""
    triangle = np.ones((3, 3)) - np.eye(3)
    start = spectral_start(csr_matrix(block_diag([triangle, triangle])), cloud(6, 0), 2, 0)
    assert (start[:3, 0] > 0).all()
    assert (start[3:, 0] < 0).all()
    assert len(np.unique(start, axis=0)) == 6


def test_components_at_one_place_are_not_single_points() -> None:
    """Five that cannot be told apart by their means reach at least a hundredth of the largest coordinate."""
    labels = np.arange(5, dtype=np.int32)
    centres, reach = component_centres(np.ones((5, 6), np.float32), labels, 2)
    assert np.isfinite(centres).all()
    assert (reach >= 0.01 * np.abs(centres).max()).all()
