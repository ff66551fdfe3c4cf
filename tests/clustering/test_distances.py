"""Angles by hand."""

import numpy as np
import pytest

from fedclade.clustering.distances import cosines
from fedclade.core import InputError


def test_angles_by_hand() -> None:
    """(1, 0), (1, 1), (-2, 0) and nothing: 45 and 180 degrees."""
    rows = np.array([[1, 0], [1, 1], [-2, 0], [0, 0]], np.float32)
    found = cosines(("a", "b", "c", "d"), rows)
    half = np.sqrt(0.5)
    wanted = [[1, half, -1, 0], [half, 1, -half, 0], [-1, -half, 1, 0], [0, 0, 0, 1]]
    assert found.clients == ("a", "b", "c", "d")
    np.testing.assert_allclose(found.values, wanted, rtol=0, atol=1e-6)
    assert found.of("c", "a") == -1


@pytest.mark.parametrize("clients", [("a",), ("a", "a"), ("a", "b", "c")])
def test_what_does_not_match_is_refused(clients: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="clients and rows do not match"):
        cosines(clients, np.zeros((2, 3), np.float32))
