"""The bounds of FLT's paper by hand, and its table 6 against the ledger."""

import math
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import InputError
from fedclade_papers.flt_bounds import clustering_error, communication, largest_step, optimality_gap


def test_theorem_1() -> None:
    """Q^-1(0.15866) = 1: two clients with 3 and 4 examples of one label, in 2 dimensions. It is never over 1."""
    expected = 2 * (math.exp(-9 / 2) + math.exp(-16 / 2))
    assert clustering_error(np.array([[3, 0], [0, 4]]), 0.158655254, 2) == pytest.approx(expected, rel=1e-6)
    bounds = [clustering_error(np.full((10, 2), count), 0.3, 128) for count in (1, 5, 10, 20)]
    assert bounds[0] == 1
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 1e-9


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
