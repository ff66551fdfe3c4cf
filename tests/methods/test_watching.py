"""Who goes astray, by hand; and a watch that changes no model."""

from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.data import Federation
from fedclade.fleet import Updates
from fedclade.methods.watching import astray, mean_of
from fedclade.nouns import Assignment
from fedclade.testing import play_run

STARTS = Assignment(np.array([[0, 0], [10, 10]], np.float32), {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, "f": 1})
GROUP = dict(STARTS.home)


def updates(**rows: list[float]) -> Updates:
    count = len(rows)
    examples = np.arange(1, count + 1)
    return Updates(tuple(rows), np.array(list(rows.values()), np.float32), examples, np.linspace(1, 2, count))


def test_who_moves_elsewhere_than_its_group_is_astray() -> None:
    """Five move by 1 to the right, with 0.1 of noise; c moves by 1 to the left."""
    sent = updates(a=[1, 0.1], b=[1, -0.1], c=[-1, 0], d=[11, 10.1], e=[11, 9.9], f=[11, 10])
    assert "c" in astray(STARTS, GROUP, sent)
    assert not set(astray(STARTS, GROUP, sent)) & {"d", "e", "f"}


def test_alike_updates_are_not_astray() -> None:
    """By hand: each is sqrt(3) from the mean of the other two in an even triangle, whatever the start."""
    height = 3**0.5
    sent = updates(a=[0, 2], b=[-height, -1], c=[height, -1], d=[10, 12], e=[10 - height, 9], f=[10 + height, 9])
    assert astray(STARTS, GROUP, sent) == ()


def test_who_is_heard_alone_has_nobody_to_be_compared_with() -> None:
    assert astray(STARTS, GROUP, updates(a=[1, 0], d=[99, 99])) == ()
    nobody = Updates((), np.zeros((0, 2), np.float32), np.zeros(0, np.int64), np.zeros(0))
    assert astray(STARTS, GROUP, nobody) == ()
    assert np.isnan(mean_of(STARTS, nobody).loss)
    np.testing.assert_array_equal(mean_of(STARTS, nobody).rows, STARTS.rows)


def test_the_mean_is_weighed_by_examples() -> None:
    """Of a (1 example) and b (2): (3 + 2 x 6) / 3 = 5; losses 1, 1.5 and 2 with 1, 2 and 3 examples: 10 / 6."""
    means = mean_of(STARTS, updates(a=[3, 0], b=[6, 3], d=[7, 8]))
    assert means.rows.tolist() == [[5, 2], [7, 8]]
    assert means.examples.tolist() == [3, 3]
    assert means.loss == pytest.approx(10 / 6)


def test_watching_changes_no_model(two_groups: Federation, tmp_path: Path) -> None:
    _, plain = play_run(fc.FLT(), two_groups, tmp_path / "plain")
    _, watched = play_run(fc.FLT(watch=True), two_groups, tmp_path / "watched")
    assert watched.home == plain.home
    np.testing.assert_allclose(watched.rows, plain.rows, rtol=0, atol=1e-6)
