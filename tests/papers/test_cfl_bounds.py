"""CFL's theory: numbers by hand and from angles. On random gradients it is the item cfl-theory."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from fedclade.core import InputError
from fedclade.methods.cfl.split_rule import is_sure
from fedclade_papers.cfl_bounds import cross_bound, intra_bound, largest_gamma, min_cosine, share_correct


def cosine_of(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def test_bounds_by_hand() -> None:
    """With gamma = sin of an angle, H is the cosine of their sum: 30 and 60 degrees make 90.

    Two distributions without noise are opposite (equation 13); with H = 0.28 equation 20 says -0.28. K = 4 adds 60
    degrees: H = cos 20 gives cos 40; H below cos 60 gives nothing.
    """
    assert min_cosine(cosine_of(60), cosine_of(30)) == pytest.approx(0, abs=1e-12)
    assert min_cosine(0.6, 0.6) == pytest.approx(1 - 2 * 0.6**2)  # equation 35
    assert min_cosine(0, 0) == intra_bound(np.zeros(4)) == 1
    assert [cross_bound(1.0, 2), cross_bound(0.28, 2)] == pytest.approx([-1, -0.28])
    assert [cross_bound(cosine_of(20), 4), cross_bound(0.49, 4)] == pytest.approx([cosine_of(40), 1])


@pytest.mark.parametrize(("distributions", "gamma"), [(2, 0.71), (4, 0.26), (8, 0.11), (20, 0.04)])
def test_what_theorem_1_guarantees(distributions: int, gamma: float) -> None:
    edge = largest_gamma(distributions)
    assert round(edge, 2) == gamma
    for factor, holds in ((0.99, True), (1.01, False)):
        least = min_cosine(factor * edge, factor * edge)
        assert (least > cross_bound(least, distributions)) == holds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: min_cosine(1.0, 0.2), "gamma is not usable"),
        (lambda: intra_bound(np.array([])), "no gamma"),
        (lambda: cross_bound(1.2, 2), "H is not a cosine"),
        (lambda: cross_bound(1.0, 1), "nothing to part"),
        (lambda: largest_gamma(1), "nothing to part"),
        (lambda: share_correct(1, 0.5, trials=3), "nothing to part"),
        (lambda: share_correct(2, 0.5, trials=0), "too few trials"),
    ],
)
def test_what_the_theory_does_not_speak_of_is_refused(call: Callable[[], float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_criterion_36() -> None:
    """alpha_cross = -1 is sure for any gamma below 1; at 0 the edge is sqrt(1/2); two alike clients are never sure."""
    pairs = ((-1.0, 0.999), (0.0, 0.707), (0.0, 0.708), (1.0, 0.0))
    assert [is_sure(cross, gamma) for cross, gamma in pairs] == [True, True, False, False]


@pytest.mark.parametrize(
    ("distributions", "gamma", "printed"),
    # Found once with code of its own, by other draws.
    [(2, 1.25, 1.0), (2, 2.5, 0.80), (4, 1.5, 0.97), (4, 2.5, 0.25), (8, 2.0, 0.30), (20, 2.0, 0.03)],
)
def test_figure_3(distributions: int, gamma: float, printed: float) -> None:
    assert share_correct(distributions, gamma, trials=100) == pytest.approx(printed, abs=0.13)
