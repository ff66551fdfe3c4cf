"""Principal components: a client's part in a basis for all, its place in one, and the basis that is only its own."""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Part
from fedclade.nets.encoders import encoder_named
from fedclade.nouns import Rows

Floats = NDArray[np.float32]
Place = Callable[[Floats], Floats]
"""From encoded examples (examples, numbers) to where they stand in a basis (examples, components)."""


def scatter(part: Part, encoder: str) -> tuple[NDArray[np.float64], Floats]:
    """The sum of the encoded examples, and the upper triangle of the sum of their outer products, row by row."""
    encoded = encoder_named(encoder).encode(part.inputs)
    products: Floats = encoded.T @ encoded
    return encoded.sum(axis=0, dtype=np.float64), products.reshape(-1)[triangle(len(products))]


@lru_cache(maxsize=2)
def triangle(width: int) -> NDArray[np.int64]:
    """Where the upper triangle of a square matrix stands, row by row."""
    return np.flatnonzero(np.triu(np.ones((width, width), bool)))


def placing(basis: Rows, own: int) -> Place:
    """How a sketch places examples: in a basis that was sent, in the client's own components, or as they are."""
    if own:
        return partial(in_own_components, count=own)
    return partial(in_components, basis=basis) if len(basis) else as_it_is


def as_it_is(encoded: Floats) -> Floats:
    """No basis."""
    return encoded


def in_components(encoded: Floats, basis: Rows) -> Floats:
    """Places in this basis: its first row is the middle, the others are the components."""
    placed: Floats = (encoded - basis[0]) @ basis[1:].T
    return placed


def in_own_components(encoded: Floats, count: int) -> Floats:
    """Places in the principal components of these examples alone; 0 in those that so few examples do not have.

    Every client has other axes here, so places of two clients cannot be compared: FLT's published code does it.
    """
    apart = encoded - encoded.mean(axis=0, dtype=np.float64).astype(np.float32)
    axes = np.linalg.svd(apart, full_matrices=False)[2][:count]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    places = np.zeros((len(encoded), count), np.float32)
    places[:, : len(axes)] = apart @ (axes * np.sign(largest)).T
    return places
