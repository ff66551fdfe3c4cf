"""Attention by cosines: by hand, and what a score of it must be."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.methods.abc.cosine_attention import RoundPair, fit_temperature, pair_of, prediction_error, scores, weights


def groups(sizes: tuple[int, ...], noise: float, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(len(sizes), 30))
    rows = np.repeat(centres, sizes, axis=0) + noise * rng.normal(size=(sum(sizes), 30))
    return rows.astype(np.float32)


def test_weights_by_hand() -> None:
    """Two drifts that point apart: seen from their mean their cosine is -1; e^2 to e^-2 at temperature 2."""
    drifts = np.array([[3, 0], [0, 5]], np.float32)
    share = np.exp(2) / (np.exp(2) + np.exp(-2))
    np.testing.assert_allclose(weights(2.0, drifts), [[share, 1 - share], [1 - share, share]], rtol=0, atol=1e-12)
    length = np.sqrt(2) * (share - 1 / 2)  # of a row from the mean, +-(share - 1/2) twice
    np.testing.assert_allclose(np.sort(scores(2.0, drifts)), [1 - length, 1 + length], rtol=0, atol=1e-9)


def test_scores_tell_groups_apart_where_shares_do_not() -> None:
    some = groups((5, 5), 0.5)
    found = scores(3.0, some)
    assert max(found[:5]) < min(found[5:]) or max(found[5:]) < min(found[:5])
    assert found.mean() == pytest.approx(1, abs=1e-8)
    np.testing.assert_allclose(weights(3.0, some).sum(axis=1), 1, rtol=0, atol=1e-12)


def test_three_groups_have_three_places() -> None:
    found = scores(5.0, groups((4, 4, 4), 0.05))
    between = np.ptp([found[:4].mean(), found[4:8].mean(), found[8:].mean()])
    assert all(np.ptp(found[start : start + 4]) < between / 10 for start in (0, 4, 8))


def test_order_and_equal_drifts() -> None:
    some = groups((4, 6), 0.5)
    order = np.random.default_rng(0).permutation(10)
    np.testing.assert_allclose(scores(3.0, some[order]), scores(3.0, some)[order], rtol=0, atol=1e-8)
    some[7] = some[2]
    assert scores(3.0, some)[7] == scores(3.0, some)[2]
    assert scores(3.0, np.repeat(some[:1], 6, axis=0)).tolist() == [1] * 6  # not what rounding makes of their mean
    assert scores(3.0, np.zeros((4, 9), np.float32)).tolist() == [1] * 4


def test_the_error_is_that_of_the_mixes_themselves() -> None:
    """From the directions, client by client, with a loop."""
    first, second = groups((3, 3), 0.8, seed=1), groups((3, 3), 0.8, seed=2)

    def seen(rows: NDArray[np.float32]) -> NDArray[np.float64]:
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        away = (unit - unit.mean(axis=0)).astype(np.float64)
        return np.asarray(away / np.linalg.norm(away, axis=1, keepdims=True))

    now, later, total = seen(first), seen(second), 0.0
    for client in range(6):
        others = [other for other in range(6) if other != client]
        raised = np.exp([1.7 * now[client] @ now[other] for other in others])
        mix = (raised / raised.sum()) @ now[others]
        total += float(((mix - later[client]) ** 2).sum()) / 6
    assert prediction_error(1.7, [pair_of(first, second)]) == pytest.approx(total, rel=1e-5)


def test_the_temperature_with_the_least_error_is_found() -> None:
    """Against a fine grid."""
    pairs = [pair_of(groups((5, 5), 0.9, seed), groups((5, 5), 0.9, seed + 100)) for seed in range(8)]
    grid = np.linspace(0.05, 30, 600)
    best = grid[np.argmin([prediction_error(float(each), pairs) for each in grid])]
    found = fit_temperature(pairs)
    assert found == pytest.approx(best, abs=0.06)
    assert prediction_error(found, pairs) < prediction_error(0.0, pairs)
    with pytest.raises(InputError, match="too little was watched"):
        fit_temperature([])
    with pytest.raises(InputError, match="3 clients or more"):
        fit_temperature([RoundPair(np.eye(2), np.eye(2))])
