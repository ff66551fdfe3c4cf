"""Principal components: a client's sums for a basis of all, its places in one, and in the basis of its own examples."""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Rows
from fedclade.data import Part
from fedclade.nets.encoders import encoder_named

ExampleMatrix = NDArray[np.float32]
Projection = Callable[[ExampleMatrix], ExampleMatrix]
"""From encoded examples (examples, numbers) to where they stand in a basis (examples, components)."""


def scatter(part: Part, encoder: str) -> tuple[NDArray[np.float64], ExampleMatrix]:
    """The sum of the encoded examples, and the upper triangle of the sum of their outer products, row by row."""
    encoded = encoder_named(encoder).encode(part.inputs)
    products: ExampleMatrix = encoded.T @ encoded
    return encoded.sum(axis=0, dtype=np.float64), products.reshape(-1)[triangle(len(products))]


@lru_cache(maxsize=2)
def triangle(width: int) -> NDArray[np.int64]:
    """Where the upper triangle of a square matrix stands, row by row."""
    return np.flatnonzero(np.triu(np.ones((width, width), bool)))


def choose_projection(basis: Rows, own_components: int) -> Projection:
    """How a sketch places examples: in a basis that was sent, in the client's own components, or as they are."""
    if own_components:
        return partial(project_on_own_components, count=own_components)
    if len(basis):  # its first row is the middle, the others are the components
        return lambda encoded: (encoded - basis[0]) @ basis[1:].T
    return lambda encoded: encoded


def project_on_own_components(encoded: ExampleMatrix, count: int) -> ExampleMatrix:
    """Places in the principal components of these examples alone; 0 in those that so few examples do not have.

    Every client has other axes here, so places of two clients cannot be compared: FLT's published code does it.
    """
    apart = encoded - encoded.mean(axis=0, dtype=np.float64).astype(np.float32)
    axes = np.linalg.svd(apart, full_matrices=False)[2][:count]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    places = np.zeros((len(encoded), count), np.float32)
    places[:, : len(axes)] = apart @ (axes * np.sign(largest)).T
    return places
