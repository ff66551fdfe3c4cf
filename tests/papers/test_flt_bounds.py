"""The bounds of FLT's paper by hand, and its table 6 against the ledger."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import fedclade as fc
from fedclade.core import InputError
from fedclade_papers.flt_bounds import (
    clustering_error,
    communication,
    largest_step,
    optimality_gap,
    optimality_gap_after_epochs,
    repaired_clustering_error,
    repaired_optimality_gap,
)


def test_theorem_1() -> None:
    """Q^-1(0.15866) = 1: two clients with 3 and 4 examples of one label, in 2 dimensions. It is never over 1."""
    expected = 2 * (math.exp(-9 / 2) + math.exp(-16 / 2))
    assert clustering_error(np.array([[3, 0], [0, 4]]), 0.158655254, 2) == pytest.approx(expected, rel=1e-6)
    bounds = [clustering_error(np.full((10, 2), count), 0.3, 128) for count in (1, 5, 10, 20)]
    assert bounds[0] == 1
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 1e-9


def test_theorem_1_is_no_bound_as_printed() -> None:
    """The mean of n Gaussians exceeds Q^-1(p) with probability Q(sqrt(n) Q^-1(p)): 0.057 for n = 10, Q^-1(p) = 0.5."""
    error = float(norm.sf(0.5))
    rng = np.random.default_rng(0)
    exact = float(norm.sf(math.sqrt(10) * 0.5))
    measured = float((rng.standard_normal((100_000, 10)).mean(axis=1) > 0.5).mean())
    assert measured == pytest.approx(exact, abs=0.003)
    assert (
        clustering_error(np.array([[10]]), error, 1)
        < 1e-5
        < exact
        < repaired_clustering_error(np.array([[10]]), error, 1)
    )


def test_theorem_1_holds_with_the_root_of_n() -> None:
    """On 10,000 random federations: the exact error is 1 minus the product of 1 - Q(sqrt(n) Q^-1(p))."""
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(10_000):
        counts, error, latent = (
            rng.integers(0, 40, (rng.integers(1, 5), 3)),
            rng.uniform(0.01, 0.49),
            int(rng.integers(1, 5)),
        )
        held = counts[counts > 0]
        exact = 1 - float(np.prod((1 - norm.sf(np.sqrt(held) * norm.isf(error))) ** latent))
        assert exact <= repaired_clustering_error(counts, error, latent) + 1e-12
        broken += exact > clustering_error(counts, error, latent)
    assert broken > 1000  # as printed


@pytest.mark.parametrize("error", [0.0, 0.5, 1.0])
def test_theorem_1_needs_an_encoder_better_than_chance(error: float) -> None:
    with pytest.raises(InputError, match="the encoder's error is not usable"):
        clustering_error(np.ones((1, 1), np.int64), error, 2)


@pytest.mark.parametrize(("mixing", "norm"), [(np.eye(4), 0), (np.full((4, 4), 0.25), 1)], ids=["Local", "FedAvg"])
def test_theorem_2_is_finite_exactly_below_the_largest_step(mixing: np.ndarray, norm: float) -> None:
    """|I - I| = 0; I - 1/M is a projection, of norm 1. Equation 29 says 2 / (L (1 + sqrt(1 + 4 norm^2)))."""
    step = largest_step(3.0, mixing)
    assert step == pytest.approx(2 / (3 * (1 + math.sqrt(1 + 4 * norm))))
    assert math.isfinite(optimality_gap(10, 1, 5, 0.999 * step, 3.0, mixing))
    assert optimality_gap(10, 1, 5, 1.001 * step, 3.0, mixing) == math.inf
    assert optimality_gap(10, 1, 5, 0.1, 3.0, mixing) == pytest.approx(9 / (20 * (5 - 1.5 - 0.45 * norm)))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_what_a_bound_is_made_of_must_be_a_number_over_0(value: float) -> None:
    with pytest.raises(InputError, match="the smoothness is not usable, equation 29"):
        largest_step(value, np.eye(2))
    for rounds, step, smoothness in ((5, 0.1, value), (5, value, 1.0), (0, 0.1, 1.0)):
        with pytest.raises(InputError, match="is not usable, Theorem 2"):
            optimality_gap(10, 1, rounds, step, smoothness, np.eye(2))
    with pytest.raises(InputError, match="dimensions is not usable, Theorem 1"):
        clustering_error(np.ones((1, 1), np.int64), 0.1, 0)
    with pytest.raises(InputError, match="A is not row-normalised"):
        largest_step(1.0, np.ones((3, 3)))


def play_rounds(
    mixing: np.ndarray, step: float, optima: np.ndarray, curves: np.ndarray, rounds: int
) -> list[np.ndarray]:
    """W^t = A (W^(t-1) - eta grad F), for losses curve_i / 2 |w - optimum_i|^2; all start from one model."""
    models = [np.zeros_like(optima)]
    for _ in range(rounds):
        models.append(mixing @ (models[-1] - step * curves[:, None] * (models[-1] - optima)))
    return models


def test_theorem_2_is_no_bound_on_a_graph() -> None:
    """A star of four, whose centre has an optimum of its own: the centre counts more than its share, and F rises."""
    links = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], np.float64)
    star = links / links.sum(axis=1, keepdims=True)
    optima = np.array([[0.75], [-0.25], [-0.25], [-0.25]])  # the best common model is 0, where all start
    step = largest_step(1.0, star) / 2
    models = play_rounds(star, step, optima, np.ones(4), 60)
    losses = [((each - optima) ** 2).sum() / 2 for each in models]
    changes = [((new - old) ** 2).sum() / 4 for old, new in pairwise(models)]
    bound = optimality_gap(losses[0], losses[-1], 60, step, 1.0, star)
    assert bound < 0 < np.mean(changes)


def test_theorem_2_holds_on_groups_when_repaired() -> None:
    """10,000 random federations: groups of unequal sizes, shares, curvatures up to L, steps up to 2 / L."""
    rng = np.random.default_rng(2)
    for _ in range(10_000):
        clients = int(rng.integers(2, 7))
        groups, shares = rng.integers(0, 3, clients), rng.dirichlet(np.ones(clients))
        same = np.equal.outer(groups, groups) * shares
        mixing = same / same.sum(axis=1, keepdims=True)
        optima, curves = rng.normal(size=(clients, 2)), rng.uniform(0.1, 1.0, clients)
        step = float(rng.uniform(0.01, 1.99))
        models = play_rounds(mixing, step, optima, curves, 8)
        losses = [float((shares * curves * ((each - optima) ** 2).sum(axis=1)).sum()) / 2 for each in models]
        changes = [float((shares * ((new - old) ** 2).sum(axis=1)).sum()) for old, new in pairwise(models)]
        assert np.mean(changes) <= repaired_optimality_gap(losses[0], losses[-1], 8, step, 1.0) + 1e-9
    assert repaired_optimality_gap(2, 1, 8, 2.0, 1.0) == math.inf


def test_equation_38_by_hand() -> None:
    """FedAvg of four: |I - A| = 1; (3 + 1 + 2 x 0.1 x 5 x (2 - 1)) / (2 x 0.1 x 5) = 5, over 20 (5 - 1.5 - 0.45)."""
    found = optimality_gap_after_epochs((3, 1), (2, 1), 5, 5, 0.1, 3.0, np.full((4, 4), 0.25))
    assert found == pytest.approx(5 / (20 * (5 - 1.5 - 0.45)))


def check_ledger(method: fc.FLT, folder: Path, *, clients: int, rounds: int, numbers: int, beside: int) -> None:
    """Train with half of the clients in a round: 4 bytes a number, and 16 for examples and loss of each participant."""
    federation = fc.data.build(source="digits", world="rotation", clients=clients, groups=2)
    run = fc.train(federation, method, net="logistic", rounds=rounds, participation=0.5, out=folder / "run")
    total = sum(int(str(run.result[name])) for name in ("bytes_up", "bytes_down"))
    assert total == 4 * numbers + beside + clients // 2 * rounds * 16


@pytest.mark.slow
@pytest.mark.parametrize(("epochs", "encoder"), [(0, 25_956), (1, 51_577)])
def test_table_6_with_an_encoder_is_what_the_ledger_counts(epochs: int, encoder: int, tmp_path: Path) -> None:
    """M W_enc down and k M e up, once. Beside them, 8 each: k counts, a token and the number of examples."""
    method = fc.FLT(signature=fc.Encoder(points=3, own_tuning_epochs=epochs))
    numbers = communication(clients=4, participants=2, rounds=2, model=650, encoder=encoder, sketch=3 * 128)
    check_ledger(method, tmp_path, clients=4, rounds=2, numbers=numbers, beside=4 * (3 + 2) * 8)


def test_table_6_is_what_the_ledger_counts(tmp_path: Path) -> None:
    """Beside the numbers, 8 each: counts of 10 labels, a token and the number of examples."""
    numbers = communication(clients=12, participants=6, rounds=4, model=650, sketch=10 * (32 + 1))
    check_ledger(fc.FLT(), tmp_path, clients=12, rounds=4, numbers=numbers, beside=12 * (10 + 2) * 8)
