"""UMAP of all clients' points, on the server (Algorithm 2): a function of the points and of a seed."""

import warnings
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError, Points, generator
from fedclade.methods.flt.spectral_start import spectral_start

if TYPE_CHECKING:
    from umap import UMAP  # takes seconds

UMAP_NEIGHBOURS = 15  # umap-learn's own choice
MIN_WEIGHT = 1 / 500, 1 / 200  # of the largest in the graph, up to 10,000 points and beyond: UMAP leaves out less
FAR_FACTOR = 5.0  # of the usual distance from the middle: one point beyond all others would press them into one

UmapStart = Literal["pca", "spectral"]
"""Where points begin: at their principal components, or at a spectral layout of their neighbours."""


def can_embed(points: Points, dimensions: int) -> bool:
    """Whether there are enough points for a manifold (more than dimensions and two), and clients to compare."""
    return int((points.counts > 0).sum()) >= dimensions + 3 and len(points.clients) >= 3


def embed_points(points: Points, dimensions: int, seed: int, start: UmapStart = "pca") -> Points:
    """The points where UMAP puts them. Fillers stay with what they copy. Too few are left as they are."""
    if not can_embed(points, dimensions):
        return points
    there = points.counts > 0
    real = points.places[there]
    return with_real_places(points, umap_coordinates(pull_in_outliers(real, real), dimensions, seed, start))


def add_to_layout(newcomers: Points, old: Points, layout: Points) -> Points:
    """The newcomers' points where UMAP's `transform` puts them among old points, of which this is the layout.

    Each client by itself, so that nobody's place depends on who comes at the same time.
    """
    require_umap()
    start_warm_up().join()
    there = old.counts > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as below
        real = old.places[there]
        model = fit_graph(pull_in_outliers(real, real), layout.places.shape[2], 0)
        model.transform_mode, model.embedding_ = "embedding", layout.places[there]
        found = [
            np.asarray(model.transform(pull_in_outliers(places[counts > 0], real)), np.float32)
            for places, counts in zip(newcomers.places, newcomers.counts, strict=True)
        ]
    return with_real_places(newcomers, np.concatenate(found))


def with_real_places(points: Points, real: NDArray[np.float32]) -> Points:
    """The same clients with their points at these places, (points that are no fillers, dimensions)."""
    there = points.counts > 0
    found = np.zeros((*there.shape, real.shape[1]), np.float32)
    found[there] = real
    last = np.maximum(there.sum(axis=1) - 1, 0)
    copied = found[np.arange(len(found)), last]
    return points.with_places(np.where(there[:, :, None], found, copied[:, None]).astype(np.float32))


def pull_in_outliers(points: NDArray[np.float32], usual: NDArray[np.float32]) -> NDArray[np.float32]:
    """The points, those that are far from the middle of the usual ones drawn in towards it."""
    middle = np.median(usual, axis=0)
    limit = FAR_FACTOR * float(np.median(distances_from(middle, usual))) or np.inf
    far = distances_from(middle, points)
    drawn = middle + (points - middle) * (limit / np.maximum(far, limit))[:, None] if np.isfinite(limit) else points
    return np.asarray(drawn, np.float32)


def distances_from(middle: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.float64]:
    """(points,)"""
    far: NDArray[np.float64] = np.linalg.norm((points - middle).astype(np.float64), axis=1)
    return far


def require_umap() -> None:
    """An error unless UMAP is here: to be asked before clients work for it."""
    if find_spec("umap") is None:
        raise InputError(
            "UMAP is not installed", where="embedding", need="umap-learn", do='pip install "fedclade[umap]"'
        )


@cache
def start_warm_up() -> Thread:
    """UMAP being loaded and compiled, once, beside other work: that takes much longer than a few points do."""
    thread = Thread(target=warm_up, name="UMAP", daemon=True)
    thread.start()
    return thread


def warm_up() -> None:
    """Embed a few points, for nobody."""
    with suppress(Exception):  # what is wrong shows when somebody needs it
        fit_umap(generator(0, "UMAP").normal(size=(20, 4)).astype(np.float32), 2, 0)


def umap_coordinates(
    real: NDArray[np.float32], dimensions: int, seed: int, start: UmapStart = "pca"
) -> NDArray[np.float32]:
    """(points, dimensions): umap-learn's answer, which is a function of points, seed and start."""
    require_umap()
    start_warm_up().join()
    with warnings.catch_warnings():  # what umap-learn says of seeds, threads and TensorFlow is meant
        warnings.simplefilter("ignore")
        return fit_umap(real, dimensions, seed, start)


def fit_umap(real: NDArray[np.float32], dimensions: int, seed: int, start: UmapStart = "pca") -> NDArray[np.float32]:
    """The same, by one thread; it may warn."""
    model = new_umap(len(real), dimensions, seed)
    model.init = "pca" if start == "pca" else umap_spectral_start(real, dimensions, seed)
    return np.asarray(model.fit_transform(real), np.float32)


def umap_spectral_start(real: NDArray[np.float32], dimensions: int, seed: int) -> NDArray[np.float32]:
    """(points, dimensions): the spectral start of the graph that UMAP will lay out."""
    graph = fit_graph(real, dimensions, seed).graph_.tocsr(copy=True)
    least = MIN_WEIGHT[0] if len(real) <= 10_000 else MIN_WEIGHT[1]
    graph.data[graph.data < least * graph.data.max()] = 0
    graph.eliminate_zeros()
    return spectral_start(graph, real, dimensions, seed)


def fit_graph(real: NDArray[np.float32], dimensions: int, seed: int) -> "UMAP":
    """A UMAP that knows these points and the graph of their neighbours, and has laid out nothing."""
    model = new_umap(len(real), dimensions, seed)
    model.transform_mode = "graph"
    return model.fit(real)


def new_umap(points: int, dimensions: int, seed: int) -> "UMAP":
    """A UMAP for so many points, of one thread."""
    from numba import config
    from umap import UMAP

    chosen = vars(config)
    if chosen["THREADING_LAYER"] == "default":
        chosen["THREADING_LAYER"] = "forksafe"  # a process that ours forks may embed too
    neighbours = min(UMAP_NEIGHBOURS, points - 1)
    return UMAP(n_components=dimensions, n_neighbors=neighbours, random_state=seed, n_jobs=1)
