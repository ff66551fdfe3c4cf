"""Classical multidimensional scaling: places with distances as near as possible to given ones."""

import numpy as np
from numpy.typing import NDArray


def classical_mds(squared: NDArray[np.floating], dimensions: int = 2) -> NDArray[np.float64]:
    """(clients, dimensions): the places, from squared distances; those below 0 count as 0."""
    table = np.maximum(squared.astype(np.float64), 0)
    centred = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    kept = slice(-1, -dimensions - 1, -1)
    places: NDArray[np.float64] = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0))
    signs = np.sign(places[np.abs(places).argmax(axis=0), np.arange(places.shape[1])]) if len(places) else 1.0
    return places * signs
