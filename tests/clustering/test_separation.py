"""The separation gap, by hand."""

import numpy as np
import pytest

from fedclade.clustering.distances import Matrix
from fedclade.clustering.separation import separation_gap
from fedclade.core import Groups

ALIKE = Matrix(
    ("a", "b", "c", "d"),
    np.array([[1, 0.7, -0.5, 0.1], [0.7, 1, -0.3, -0.6], [-0.5, -0.3, 1, 0.4], [0.1, -0.6, 0.4, 1]], np.float32),
)


def test_smallest_inside_minus_largest_across() -> None:
    """Inside a, b: 0.7, inside c, d: 0.4. The best parts are those too, 0.1 across (a and d): 0.4 - 0.1.

    Inside a, d: 0.1, inside b, c: -0.3. The best parts do not depend on the truth: -0.3 - 0.1.
    """
    assert separation_gap(ALIKE, Groups((("a", "b"), ("c", "d")))) == pytest.approx(0.3)
    assert separation_gap(ALIKE, Groups((("a", "d"), ("b", "c")))) == pytest.approx(-0.4)


def test_clients_that_the_truth_does_not_know_are_alone() -> None:
    assert separation_gap(ALIKE, Groups((("c", "d"),))) == pytest.approx(0.4 - 0.1)
    assert separation_gap(ALIKE, Groups((("a",), ("b",), ("c",), ("d",)))) is None
