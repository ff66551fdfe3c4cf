"""UMAP of all clients' points, on the server (Algorithm 2): a function of the points and of a seed."""

import warnings
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError, Points, generator

UMAP_NEIGHBOURS = 15  # umap-learn's own choice
FAR_FACTOR = 5.0  # of the usual distance from the middle: one point beyond all others would press them into one


def embed_points(points: Points, dimensions: int, seed: int) -> Points:
    """The points where UMAP puts them, from their principal components on. Fillers stay with what they copy.

    UMAP's own start, a spectral layout, is not used: where heaps are far apart it differs from call to call.

    Too few points for a manifold (as many as dimensions and two more), or clients to compare, are left as they are.
    """
    there = points.counts > 0
    real = points.places[there]
    if len(real) < dimensions + 3 or len(points.clients) < 3:
        return points
    found = np.zeros((*there.shape, dimensions), np.float32)
    found[there] = umap_coordinates(pull_in_outliers(real), dimensions, seed)
    last = np.maximum(there.sum(axis=1) - 1, 0)
    copied = found[np.arange(len(found)), last]
    return points.with_places(np.where(there[:, :, None], found, copied[:, None]).astype(np.float32))


def pull_in_outliers(real: NDArray[np.float32]) -> NDArray[np.float32]:
    """The points, those that are far from the middle of all drawn in towards it."""
    middle = np.median(real, axis=0)
    far = np.linalg.norm((real - middle).astype(np.float64), axis=1)
    limit = FAR_FACTOR * float(np.median(far)) or np.inf
    drawn = middle + (real - middle) * (limit / np.maximum(far, limit))[:, None] if np.isfinite(limit) else real
    return np.asarray(drawn, np.float32)


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


def umap_coordinates(real: NDArray[np.float32], dimensions: int, seed: int) -> NDArray[np.float32]:
    """(points, dimensions): umap-learn's answer, which is a function of points and seed."""
    require_umap()
    start_warm_up().join()
    with warnings.catch_warnings():  # what umap-learn says of seeds, threads and TensorFlow is meant
        warnings.simplefilter("ignore")
        return fit_umap(real, dimensions, seed)


def fit_umap(real: NDArray[np.float32], dimensions: int, seed: int) -> NDArray[np.float32]:
    """The same, by one thread; it may warn."""
    from numba import config
    from umap import UMAP

    chosen = vars(config)
    if chosen["THREADING_LAYER"] == "default":
        chosen["THREADING_LAYER"] = "forksafe"  # a process that ours forks may embed too

    neighbours = min(UMAP_NEIGHBOURS, len(real) - 1)
    model = UMAP(n_components=dimensions, n_neighbors=neighbours, init="pca", random_state=seed, n_jobs=1)
    return np.asarray(model.fit_transform(real), np.float32)
