"""CFL's theory: numbers by hand, from angles, and from random gradients that keep what the theorem assumes."""

import math

import numpy as np
import pytest

from fedclade.nouns import InputError
from fedclade.relate.bipartition import bipartition
from fedclade.relate.distances import cosines
from fedclade.relate.theory_cfl import (
    cross_bound,
    intra_bound,
    is_sure,
    largest_gamma,
    least_alike,
    share_correct,
)


def test_h_is_the_cosine_of_two_angles_added() -> None:
    """With gamma = sin of an angle, H is the cosine of their sum: 30 and 60 degrees make 90."""
    assert least_alike(math.sin(math.radians(30)), math.sin(math.radians(60))) == pytest.approx(0, abs=1e-12)
    assert least_alike(0.6, 0.6) == pytest.approx(1 - 2 * 0.6**2)  # equation 35
    assert least_alike(0, 0) == 1
    with pytest.raises(InputError, match="gamma is not usable"):
        least_alike(1.0, 0.2)


def test_two_distributions_without_noise_are_opposite() -> None:
    """Equation 13: 1 inside, -1 across; with H = 0.28 equation 20 says -0.28."""
    assert intra_bound(np.zeros(4)) == 1
    assert cross_bound(1.0, 2) == pytest.approx(-1)
    assert cross_bound(0.28, 2) == pytest.approx(-0.28)


def test_more_distributions_add_an_angle() -> None:
    """K = 4: 60 degrees minus the angle of H. H = cos 20 gives cos 40; H below cos 60 gives nothing."""
    assert cross_bound(math.cos(math.radians(20)), 4) == pytest.approx(math.cos(math.radians(40)))
    assert cross_bound(0.49, 4) == 1
    with pytest.raises(InputError, match="nothing to part"):
        cross_bound(1.0, 1)


@pytest.mark.parametrize(("distributions", "gamma"), [(2, 0.71), (4, 0.26), (8, 0.11), (20, 0.04)])
def test_what_theorem_1_guarantees(distributions: int, gamma: float) -> None:
    edge = largest_gamma(distributions)
    assert round(edge, 2) == gamma
    for factor, holds in ((0.99, True), (1.01, False)):
        least = least_alike(factor * edge, factor * edge)
        assert (least > cross_bound(least, distributions)) == holds


def test_what_the_theory_does_not_speak_of_is_refused() -> None:
    """One distribution, a cosine above 1, nobody's gamma, no trial."""
    with pytest.raises(InputError, match="nothing to part"):
        largest_gamma(1)
    with pytest.raises(InputError, match="H is not a cosine"):
        cross_bound(1.2, 2)
    with pytest.raises(InputError, match="no gamma"):
        intra_bound(np.array([]))
    with pytest.raises(InputError, match="too few trials"):
        share_correct(2, 0.5, trials=0)
    with pytest.raises(InputError, match="nothing to part"):
        share_correct(1, 0.5, trials=3)


def test_criterion_36() -> None:
    """alpha_cross = -1 is sure for any gamma below 1; at 0 the edge is sqrt(1/2); two alike clients are never sure."""
    assert is_sure(-1.0, 0.999)
    assert is_sure(0.0, 0.707)
    assert not is_sure(0.0, 0.708)
    assert not is_sure(1.0, 0.0)


def test_random_gradients_keep_the_bounds() -> None:
    """Gradients that add to 0, each client's off by gamma exactly: the theorem's premise, for 2 and for 3 groups."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        distributions = int(rng.integers(2, 4))
        risks = rng.standard_normal((distributions, 6))
        risks -= risks.mean(axis=0)
        labels = np.repeat(np.arange(distributions), 3)
        gammas = rng.uniform(0, 0.5, len(labels))
        noise = rng.standard_normal((len(labels), 6))
        noise *= (gammas * np.linalg.norm(risks[labels], axis=1) / np.linalg.norm(noise, axis=1))[:, None]
        alike = cosines([str(number) for number in labels.argsort()], (risks[labels] + noise).astype(np.float32))
        inside = alike.values[(labels[:, None] == labels) & ~np.eye(len(labels), dtype=bool)].min()
        assert inside >= intra_bound(gammas) - 1e-5
        assert bipartition(alike).cross <= cross_bound(intra_bound(gammas), distributions) + 1e-5


@pytest.mark.parametrize(
    ("distributions", "gamma", "printed"),
    # Found once with code of its own, by other draws.
    [(2, 1.25, 1.0), (2, 2.5, 0.80), (4, 1.5, 0.97), (4, 2.5, 0.25), (8, 2.0, 0.30), (20, 2.0, 0.03)],
)
def test_figure_3(distributions: int, gamma: float, printed: float) -> None:
    assert share_correct(distributions, gamma, trials=100) == pytest.approx(printed, abs=0.13)
