"""Warnings: there where they should be, and not where they should not."""

from collections.abc import Sequence

import numpy as np
import pytest

from fedclade.core.evaluation import count_classes, count_flags, count_numbers
from fedclade.core.task import Task
from fedclade.fleet import Scores
from fedclade.runs.warnings import find_warnings
from fedclade.store.events import EvaluationEvent

RNG = np.random.default_rng(0)


def scores_of(task: Task, parts: Sequence[tuple[np.ndarray, ...]], examples: int) -> Scores:
    """Scores of clients with so many examples each: (score, counts, sums) of each."""
    score, counts, sums = (np.array(each) for each in zip(*parts, strict=True))
    names = tuple(f"c{number:02d}" for number in range(len(parts)))
    return Scores(task, names, np.full(len(parts), examples), np.ones(len(parts)), score, counts, sums)


def classes_of(said: Sequence[np.ndarray], labels: Sequence[np.ndarray], names: tuple[str, ...]) -> Scores:
    """Scores of clients that say these classes."""
    task = Task(count=len(names), names=names)
    eye = np.eye(len(names))
    parts = [count_classes(task, eye[mine], there) for mine, there in zip(said, labels, strict=True)]
    return scores_of(task, parts, len(labels[0]))


def names_of(scores: Scores, history: Sequence[EvaluationEvent] = ()) -> list[str]:
    return [each.name for each in find_warnings(scores, history)]


def test_a_class_that_is_never_predicted_is_named_and_the_model_is_no_better_than_the_majority() -> None:
    labels = [np.array([0] * 19 + [1]) for _ in range(20)]
    found = find_warnings(classes_of([np.zeros(20, int)] * 20, labels, ("good", "bad")), [])
    assert [each.name for each in found] == ["baseline", "never_predicted"]
    assert found[0].text.startswith(
        "the model is not better than always answering the most frequent class: accuracy 95.0 % against 95.0 %"
    )
    text = 'class "bad" (20 test examples) is never predicted; none of these test examples is found'
    assert found[1].text == text
    assert names_of(classes_of(labels, labels, ("good", "bad"))) == []  # all right
    labels = [np.arange(9) for _ in range(4)]
    many = find_warnings(classes_of([np.zeros(9, int)] * 4, labels, tuple("abcdefghi")), [])[-1].text
    assert many.startswith('8 classes are never predicted: "b" (4 test examples), "c" (4 test examples), "d"')
    assert "and 3 more" in many


def test_a_model_that_guesses_is_hardly_ever_better_than_the_majority() -> None:
    """Two classes that are as frequent, thirty clients with 20 examples, and answers by chance."""
    silent = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        labels, said = ([rng.integers(0, 2, 20) for _ in range(30)] for _ in range(2))
        silent += names_of(classes_of(said, labels, ("a", "b"))) == []
    assert silent / 200 <= 0.05


def test_a_regression_is_compared_with_the_mean() -> None:
    task = Task(kind="regression", labels="number", centre=5.0, scale=2.0)
    labels = [RNG.normal(size=30).astype(np.float32) for _ in range(12)]

    def warned(noise: float, skill: float) -> list[str]:
        parts = []
        for mine in labels:
            score, sums = count_numbers(task, skill * mine + noise * RNG.normal(size=30), mine)
            parts.append((score, np.zeros(0, np.int64), sums))
        return names_of(scores_of(task, parts, 30))

    assert warned(0.3, 1.0) == []
    assert warned(0.0, 0.0) == warned(1.0, 0.0) == ["baseline"]  # the mean itself, and worse


def test_a_flag_that_is_never_said_is_named() -> None:
    task = Task(kind="multi-label", labels="flags", count=2, names=("rust", "dent"))
    flags = np.array([[1, 0], [0, 0], [1, 1], [0, 0]], np.uint8)
    logits = np.array([[1, -1], [-1, -1], [1, -1], [-1, -1.0]])
    texts = [each.text for each in find_warnings(scores_of(task, [count_flags(logits, flags)] * 12, 4), [])]
    assert texts == ['flag "dent" (12 test examples) is never predicted; none of these test examples is found']


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([0.1 * number for number in range(9)], "still_improving"),
        ([0.9, 0.91, 0.89, 0.9, 0.91, 0.9, 0.89, 0.9, 0.9], ""),
        ([*[0.9] * 4, 0.8, 0.7, 0.6, 0.5, 0.4], "getting_worse"),
        ([0.900, 0.901, 0.902, 0.903, 0.904], ""),  # it rises by less than a point
        ([0.1, 0.2, 0.3, 0.4], ""),  # too few to say
    ],
)
def test_training_that_still_rises_or_falls(values: list[float], name: str) -> None:
    labels = [np.array([0, 1] * 5)] * 3
    scores = classes_of(labels, labels, ("a", "b"))
    history = [
        EvaluationEvent(round=1 + 2 * number, metric="accuracy", metrics={"accuracy": value})
        for number, value in enumerate(values)
    ]
    assert names_of(scores, history) == ([name] if name else [])


def test_curves_of_noise_alone_hardly_ever_rise_or_fall() -> None:
    labels = [np.array([0, 1] * 5)] * 3
    scores = classes_of(labels, labels, ("a", "b"))
    warned = 0
    for seed in range(300):
        values = 0.7 + 0.03 * np.random.default_rng(seed).normal(size=20)
        history = [EvaluationEvent(round=1, metric="accuracy", metrics={"accuracy": value}) for value in values]
        warned += names_of(scores, history) != []
    assert warned / 300 <= 0.05 + 0.025  # 5 %, give or take two standard errors


def test_a_fall_of_an_error_is_better() -> None:
    task = Task(kind="regression", labels="number")
    labels = [RNG.normal(size=30).astype(np.float32) for _ in range(12)]
    parts = [
        (*count_numbers(task, mine, mine)[:1], np.zeros(0, np.int64), count_numbers(task, mine, mine)[1])
        for mine in labels
    ]
    history = [EvaluationEvent(round=at, metric="rmse", metrics={"rmse": 9.0 - at}) for at in range(7)]
    found = find_warnings(scores_of(task, parts, 30), history)
    assert [each.text for each in found] == ["RMSE still falls: by 4 from round 2 to 6; run more rounds"]


def test_where_nobody_answered() -> None:
    nothing = np.zeros((0, 2))
    empty = Scores(Task(count=2), (), np.zeros(0, np.int64), np.zeros(0), nothing, nothing.astype(np.int64), nothing)
    assert names_of(empty) == ["not_evaluated"]
