"""A score that is known is not made again; one that is not known is."""

from dataclasses import replace

import numpy as np
import pytest

from fedclade.data import Part, Pool
from fedclade.local import remembered
from fedclade.local.remembered import Remembered
from fedclade.nouns import Row

POOL = Pool(np.zeros((4, 2), np.float32), np.arange(4))
INDEX = np.arange(2)


class Scoring:
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, row: Row, part: Part) -> tuple[int, float]:
        self.asked += 1
        return len(part), float(row.sum())


def model(last: float = 1.0) -> Row:
    row = np.ones(1000, np.float32)
    row[-2] = last  # no number that is looked at first
    return row


def test_the_same_examples_and_model_are_scored_once() -> None:
    scoring = Scoring()
    score = Remembered(scoring)
    assert score(model(), Part(POOL, INDEX)) == score(model(), Part(POOL, INDEX)) == (2, 1000.0)
    assert scoring.asked == 1


def test_another_model_is_scored_by_itself() -> None:
    scoring = Scoring()
    score = Remembered(scoring)
    assert [score(model(last), Part(POOL, INDEX))[1] for last in (1, 3, 1)] == [1000, 1002, 1000]
    assert scoring.asked == 3


def test_a_model_that_is_written_over_is_another_one() -> None:
    """Workers are sent models in memory that is used again."""
    score = Remembered(Scoring())
    row = model()
    score(row, Part(POOL, INDEX))
    row[-2] = 5
    assert score(row, Part(POOL, INDEX)) == (2, 1004.0)


@pytest.mark.parametrize(
    "other",
    [
        Part(POOL, INDEX.copy()),
        Part(Pool(POOL.inputs.copy(), POOL.labels), INDEX),
        Part(POOL, INDEX, relabel=np.arange(4)),
        replace(Part(POOL, INDEX), quarter_turns=1),
    ],
)
def test_other_examples_are_scored_by_themselves(other: Part) -> None:
    scoring = Scoring()
    score = Remembered(scoring)
    score(model(), Part(POOL, INDEX))
    score(model(), other)
    assert scoring.asked == 2


def test_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for three models of 4,000 bytes: the one that was asked for longest ago goes first."""
    monkeypatch.setattr(remembered, "MOST_BYTES", 12_000)
    scoring = Scoring()
    score = Remembered(scoring)
    parts = [Part(POOL, np.arange(number)) for number in range(1, 5)]
    for part in parts:
        score(model(), part)
    score(model(), parts[1])
    assert scoring.asked == 4
    score(model(), parts[0])
    assert scoring.asked == 5
