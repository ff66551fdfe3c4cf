"""Where UMAP's points begin, as umap-learn has it by default: a spectral layout of the graph of neighbours.

umap-learn's own can differ from call to call: of a component so regular that its solver must begin again, such as 16
equal points, it goes on from a vector that no seed reaches. This one is a function of the graph, the points and the
seed. Each component has the eigenvectors of its normalised Laplacian; components stand apart from one another.
"""

from inspect import signature
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.core import generator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # takes a quarter of a second

MAX_DENSE = 2000  # points of a component whose eigenvectors are computed exactly; of more, by iteration
TOLERANCE = 1e-4  # of that iteration: umap-learn's own
LARGEST, NOISE = 10.0, 1e-4  # the largest coordinate, and what is added to all of them: umap-learn's own
SMALLEST_REACH = 0.01  # of the largest coordinate: no component becomes a single point


def spectral_start(graph: "csr_matrix", points: NDArray[np.float32], dimensions: int, seed: int) -> NDArray[np.float32]:
    """(points, dimensions): where each of these points begins, for a symmetric graph of them."""
    from scipy.sparse.csgraph import connected_components

    rng = generator(seed, "spectral start")
    count, labels = connected_components(graph, directed=False)
    if count == 1:
        layout = laplacian_vectors(graph, dimensions)
    else:
        centres, reach = component_centres(points, labels, dimensions)
        layout = centres[labels]
        for number in range(count):
            inside = np.flatnonzero(labels == number)
            if len(inside) < max(2 * dimensions, dimensions + 2):  # too few for eigenvectors
                layout[inside] += reach[number] * rng.uniform(-1, 1, (len(inside), dimensions))
            else:
                own = laplacian_vectors(graph[inside][:, inside], dimensions)
                layout[inside] += reach[number] * own / np.abs(own).max()
    layout *= LARGEST / np.abs(layout).max()
    return np.asarray(layout + rng.normal(scale=NOISE, size=layout.shape), np.float32)


def laplacian_vectors(graph: "csr_matrix", dimensions: int) -> NDArray[np.float64]:
    """(points, dimensions): the eigenvectors of a connected graph's normalised Laplacian after the first.

    Those of the smallest eigenvalues. The first is known and tells nothing. The largest entry of each is positive.
    """
    from scipy.linalg import eigh
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh

    scale = 1 / np.sqrt(np.asarray(graph.sum(axis=0), np.float64).ravel())
    weights = diags(scale) @ graph.astype(np.float64) @ diags(scale)  # the Laplacian is 1 less this
    if len(scale) <= MAX_DENSE:
        vectors = eigh(np.eye(len(scale)) - weights.toarray(), subset_by_index=[1, dimensions])[1]
    else:
        first = generator(len(scale), "first vector").normal(size=len(scale))
        seeded = {"rng": 0} if "rng" in signature(eigsh).parameters else {}  # newer versions of scipy ask for both
        values, found = eigsh(weights, dimensions + 1, which="LA", v0=first, tol=TOLERANCE, **seeded)
        vectors = found[:, np.argsort(-values)[1:]]
    largest = np.abs(vectors).argmax(axis=0)
    signed: NDArray[np.float64] = vectors * np.sign(vectors[largest, np.arange(dimensions)])
    return signed


def component_centres(
    points: NDArray[np.float32], labels: NDArray[np.int32], dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(components, dimensions), (components,): the centre of each component, and how far it may reach from there.

    A few components are on the axes. More have the eigenvectors for the nearness of their means, as in umap-learn; but
    nearness goes by the median distance: in the units of the points all far components would be equally far.
    """
    from scipy.sparse import csr_matrix
    from scipy.spatial.distance import pdist, squareform

    count = int(labels.max()) + 1
    if count <= 2 * dimensions:
        axes = np.eye((count + 1) // 2, dimensions)
        centres = np.concatenate([axes, -axes])[:count]
    else:
        means = np.stack([points[labels == number].mean(axis=0, dtype=np.float64) for number in range(count)])
        apart = pdist(means)
        nearness = np.exp(-(squareform(apart / (np.median(apart) or 1.0)) ** 2))
        centres = laplacian_vectors(csr_matrix(nearness), dimensions)
    apart = squareform(pdist(centres))
    np.fill_diagonal(apart, np.inf)
    return centres, np.maximum(apart.min(axis=1) / 2, SMALLEST_REACH * np.abs(centres).max())
