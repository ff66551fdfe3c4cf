"""Places that were given by their distances come back."""

import numpy as np
import pytest

from fedclade.clustering.scaling import classical_mds


@pytest.mark.parametrize("dimensions", [2, 4])
def test_distances_of_points_in_so_many_dimensions_are_kept(dimensions: int) -> None:
    points = np.random.default_rng(0).normal(size=(12, dimensions))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    places = classical_mds(squared.astype(np.float32), dimensions)
    again = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(again, squared, rtol=0, atol=1e-4)
