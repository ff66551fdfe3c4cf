"""The paper's bounds, by hand; and its table 6 against the ledger."""

import math
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.nouns import InputError
from fedclade.relate.theory import clustering_error, communication, largest_step, optimality_gap


def test_theorem_1_by_hand() -> None:
    """Q^-1(0.15866) = 1: two clients with 3 and 4 examples of one label, in 2 dimensions."""
    counts = np.array([[3, 0], [0, 4]])
    expected = 2 * (math.exp(-9 / 2) + math.exp(-16 / 2))
    assert clustering_error(counts, 0.158655254, 2) == pytest.approx(expected, rel=1e-6)


def test_theorem_1_vanishes_with_more_examples_and_never_exceeds_1() -> None:
    bounds = [clustering_error(np.full((10, 2), count), 0.3, 128) for count in (1, 5, 10, 20)]
    assert bounds[0] == 1
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < 1e-9


@pytest.mark.parametrize("error", [0.0, 0.5, 1.0])
def test_theorem_1_needs_an_encoder_better_than_chance(error: float) -> None:
    with pytest.raises(InputError, match="the encoder's error is not usable"):
        clustering_error(np.ones((1, 1), np.int64), error, 2)


def test_equation_29_by_hand() -> None:
    """Local: |I - I| = 0, 2 / (L + L) = 1 / L. FedAvg: I - 1/M is a projection, of norm 1: 2 / (L (1 + sqrt 5))."""
    assert largest_step(4.0, np.eye(5)) == pytest.approx(0.25)
    assert largest_step(4.0, np.full((5, 5), 0.2)) == pytest.approx(2 / (4 * (1 + 5**0.5)))


@pytest.mark.parametrize("mixing", [np.eye(4), np.full((4, 4), 0.25)])
def test_theorem_2_is_finite_exactly_below_the_largest_step(mixing: np.ndarray) -> None:
    step = largest_step(3.0, mixing)
    assert math.isfinite(optimality_gap(10, 1, 5, 0.999 * step, 3.0, mixing))
    assert optimality_gap(10, 1, 5, 1.001 * step, 3.0, mixing) == math.inf
    assert optimality_gap(10, 1, 5, 0.1, 3.0, np.eye(4)) == pytest.approx(9 / (20 * (5 - 1.5)))


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_what_a_bound_is_made_of_must_be_a_number_over_0(wrong: float) -> None:
    with pytest.raises(InputError, match="the smoothness is not usable, equation 29"):
        largest_step(wrong, np.eye(2))
    for step, smoothness in ((0.1, wrong), (wrong, 1.0)):
        with pytest.raises(InputError, match="is not usable, Theorem 2"):
            optimality_gap(10, 1, 5, step, smoothness, np.eye(2))
    with pytest.raises(InputError, match="the number of rounds is not usable, Theorem 2: got 0"):
        optimality_gap(10, 1, 0, 0.1, 1.0, np.eye(2))
    with pytest.raises(InputError, match="dimensions is not usable, Theorem 1"):
        clustering_error(np.ones((1, 1), np.int64), 0.1, 0)


def test_a_mixing_matrix_has_rows_that_add_to_1() -> None:
    with pytest.raises(InputError, match="A is not row-normalised"):
        largest_step(1.0, np.ones((3, 3)))


@pytest.mark.slow
@pytest.mark.parametrize(("tuning", "encoder"), [("none", 25_956), ("clients", 51_577)])
def test_table_6_with_an_encoder_is_what_the_ledger_counts(tuning: str, encoder: int, tmp_path: Path) -> None:
    """M W_enc down and k M e up, once. Beside them, 8 each: k counts, a token and the number of examples."""
    federation = fc.data.build(source="digits", world="iid", clients=4)
    how: dict[str, object] = {} if tuning == "none" else {"tuning": tuning, "tuning_epochs": 1}
    method = fc.FLT(signature="encoder", points=3, **how)  # type: ignore[arg-type]  # of the right types
    run = fc.train(federation, method, net="logistic", rounds=2, participation=0.5, out=tmp_path / "run")
    numbers = communication(clients=4, asked=2, rounds=2, model=650, encoder=encoder, sketch=3 * 128)
    beside = 4 * (3 + 2) * 8 + 2 * 2 * 16
    total = sum(int(str(run.result[name])) for name in ("bytes_up", "bytes_down"))
    assert total == 4 * numbers + beside


def test_table_6_is_what_the_ledger_counts(tmp_path: Path) -> None:
    """4 bytes a number; beside them counts (10 labels, examples, token: 8 each) and, in a round, examples and loss."""
    federation = fc.data.build(source="digits", world="rotation", clients=12, groups=3)
    run = fc.train(federation, fc.FLT(), net="logistic", rounds=4, participation=0.5, out=tmp_path / "run")
    numbers = communication(clients=12, asked=6, rounds=4, model=650, sketch=10 * (32 + 1))
    beside = 12 * (10 + 2) * 8 + 6 * 4 * 16
    total = sum(int(str(run.result[name])) for name in ("bytes_up", "bytes_down"))
    assert total == 4 * numbers + beside
