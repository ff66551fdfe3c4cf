"""A score that is known is not made again; one that is not known is."""

from dataclasses import replace

import numpy as np
import pytest

from fedclade.client import evaluation_cache
from fedclade.client.evaluation_cache import EvaluationCache
from fedclade.core import Row
from fedclade.core.evaluation import Evaluation
from fedclade.data import Part, Pool

POOL = Pool(np.zeros((4, 2), np.float32), np.arange(4))
INDEX = np.arange(2)


class Scoring:
    """Scores a model, and counts how often."""

    asked = 0

    def __call__(self, row: Row, part: Part) -> Evaluation:
        self.asked += 1
        return Evaluation(len(part), float(row.sum()), np.zeros(2), np.zeros(0, np.int64), np.zeros(0))


@pytest.fixture
def scoring() -> Scoring:
    return Scoring()


def model(last: float = 1.0) -> Row:
    row = np.ones(1000, np.float32)
    row[-2] = last  # no number that is looked at first
    return row


def test_the_same_examples_and_model_are_scored_once(scoring: Scoring) -> None:
    score = EvaluationCache(scoring)
    first, again = score(model(), Part(POOL, INDEX)), score(model(), Part(POOL, INDEX))
    assert first is again
    assert (first.examples, first.loss) == (2, 1000.0)
    assert scoring.asked == 1


def test_another_model_is_scored_by_itself(scoring: Scoring) -> None:
    score = EvaluationCache(scoring)
    assert [score(model(last), Part(POOL, INDEX)).loss for last in (1, 3, 1)] == [1000, 1002, 1000]
    assert scoring.asked == 3


def test_a_model_that_is_written_over_is_another_one(scoring: Scoring) -> None:
    """Workers are sent models in memory that is used again."""
    score, row = EvaluationCache(scoring), model()
    score(row, Part(POOL, INDEX))
    row[-2] = 5
    assert score(row, Part(POOL, INDEX)).loss == 1004.0


@pytest.mark.parametrize(
    "other",
    [
        Part(POOL, INDEX.copy()),
        Part(Pool(POOL.inputs.copy(), POOL.labels), INDEX),
        Part(POOL, INDEX, relabel=np.arange(4)),
        replace(Part(POOL, INDEX), quarter_turns=1),
    ],
)
def test_other_examples_are_scored_by_themselves(scoring: Scoring, other: Part) -> None:
    score = EvaluationCache(scoring)
    score(model(), Part(POOL, INDEX))
    score(model(), other)
    assert scoring.asked == 2


def test_few_are_kept(scoring: Scoring, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for three models of 4,000 bytes: the one that was asked for longest ago goes first."""
    monkeypatch.setattr(evaluation_cache, "MAX_MODEL_BYTES", 12_000)
    score = EvaluationCache(scoring)
    parts = [Part(POOL, np.arange(number)) for number in range(1, 5)]
    for part in parts:
        score(model(), part)
    score(model(), parts[1])
    assert scoring.asked == 4
    score(model(), parts[0])
    assert scoring.asked == 5
