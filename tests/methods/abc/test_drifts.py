"""Scores and groups from drifts: planted directions, lengths that mean nothing, and nothing at all."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from fedclade.core import Groups
from fedclade.methods.abc.drifts import cosine_scores, drift_groups, principal_scores

Scorer = Callable[[NDArray[np.float32]], NDArray[np.float64]]
SCORES = (principal_scores, cosine_scores)


def drifts(groups: int, members: int, seed: int, noise: float = 0.5) -> NDArray[np.float32]:
    """Group after group: a way that all share, one of the group, and noise; with lengths of any kind."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=500), rng.normal(size=(groups, 500))
    rows = shared + np.repeat(own, members, axis=0) + noise * rng.normal(size=(groups * members, 500))
    return (rows * rng.uniform(0.1, 10, size=(len(rows), 1))).astype(np.float32)


def names(rows: NDArray[np.float32]) -> tuple[str, ...]:
    return tuple(f"c{number:02}" for number in range(len(rows)))


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_planted_directions_are_groups(groups: int, seed: int) -> None:
    rows = drifts(groups, 5, seed)
    planted = Groups.from_labels({name: number // 5 for number, name in enumerate(names(rows))})
    assert drift_groups(names(rows), rows) == planted


@pytest.mark.parametrize("seed", range(10))
def test_what_points_anywhere_is_one_group(seed: int) -> None:
    rows = drifts(1, 12, seed)
    assert len(drift_groups(names(rows), rows)) == 1
    assert len(drift_groups(names(rows), rows, sure=False)) > 1


def test_few_clients_are_one_group() -> None:
    assert drift_groups(("a", "b"), np.eye(2, dtype=np.float32)) == Groups((("a", "b"),))
    assert len(drift_groups((), np.zeros((0, 3), np.float32))) == 0


def test_the_first_component_is_scikit_learns() -> None:
    rows = drifts(2, 6, 0)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    theirs = PCA(1, svd_solver="full").fit_transform(unit.astype(np.float64))[:, 0]
    ours = principal_scores(rows)
    np.testing.assert_allclose(ours, theirs * np.sign(theirs @ ours), atol=1e-6)
    assert ours[np.abs(ours).argmax()] > 0


def test_cosines_to_the_mean_by_hand() -> None:
    """(3, 0) and (0, 1): their mean is (1.5, 0.5), of length sqrt(2.5)."""
    found = cosine_scores(np.array([[3, 0], [0, 1]], np.float32))
    np.testing.assert_allclose(found, [1.5 / np.sqrt(2.5), 0.5 / np.sqrt(2.5)])


@pytest.mark.parametrize("scores", SCORES)
def test_scores_go_with_their_clients(scores: Scorer) -> None:
    rows = drifts(2, 5, 1)
    order = np.random.default_rng(2).permutation(len(rows))
    np.testing.assert_allclose(scores(rows[order]), scores(rows)[order], atol=1e-9)


@pytest.mark.parametrize("scores", SCORES)
def test_equal_drifts_have_equal_scores_and_none_are_no_trouble(scores: Scorer) -> None:
    same = np.tile(drifts(1, 1, 0), (6, 1))
    assert len(set(scores(same).tolist())) == 1
    assert np.isfinite(scores(np.zeros((4, 7), np.float32))).all()
    assert np.isfinite(scores(np.concatenate([same, np.zeros_like(same[:1])]))).all()
    assert len(drift_groups(names(same), same)) == 1
