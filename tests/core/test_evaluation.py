"""Counts and sums of test examples, and the metrics that they give, beside scikit-learn."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as judge
from numpy.typing import NDArray

from fedclade.core.evaluation import (
    Evaluation,
    add_evaluations,
    baseline_metrics,
    count_classes,
    count_flags,
    count_numbers,
    main_metric,
    metrics_of,
    pairs_of,
    ranked_pairs,
)
from fedclade.core.task import MAX_CONFUSION, Task


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def classified(task: Task, logits: NDArray[np.float64], labels: NDArray[np.int64]) -> Evaluation:
    loss = -np.log(softmax(logits))[np.arange(len(labels)), labels].mean()
    return Evaluation(len(labels), float(loss), *count_classes(task, logits, labels))


@pytest.mark.parametrize(("classes", "seed"), [(2, 0), (3, 1), (10, 2), (MAX_CONFUSION, 3)])
def test_metrics_of_classes_are_scikit_learns(classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=600)
    logits = rng.normal(size=(600, classes))
    logits[np.arange(600), labels] += 0.8
    task = Task(count=classes)
    found = metrics_of(task, classified(task, logits, labels))
    said, shares = logits.argmax(axis=1), softmax(logits)
    assert found["accuracy"] == pytest.approx(judge.accuracy_score(labels, said))
    assert found["balanced_accuracy"] == pytest.approx(judge.balanced_accuracy_score(labels, said))
    assert found["macro_f1"] == pytest.approx(judge.f1_score(labels, said, average="macro"))
    assert found["log_loss"] == pytest.approx(judge.log_loss(labels, shares))
    by_class = [judge.roc_auc_score(labels == each, shares[:, each]) for each in range(classes)]
    assert found["auc"] == pytest.approx(np.mean(by_class), abs=1e-9)


def test_clients_add_up() -> None:
    """Accuracy, recall and F1 of two clients together are those of their examples together; pairs are of one client."""
    rng = np.random.default_rng(4)
    task = Task(count=3)
    labels, logits = rng.integers(3, size=90), rng.normal(size=(90, 3))
    parts = [classified(task, logits[rows], labels[rows]) for rows in (slice(0, 30), slice(30, 90))]
    both = add_evaluations(parts)
    pairs = np.sum([pairs_of(task, part) for part in parts], axis=0)
    found, said = metrics_of(task, both, pairs), logits.argmax(axis=1)
    assert found["balanced_accuracy"] == pytest.approx(judge.balanced_accuracy_score(labels, said))
    assert found["log_loss"] == pytest.approx(judge.log_loss(labels, softmax(logits)))
    margins = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True) - np.exp(logits))
    by_class = []
    for each in range(3):  # pair by pair
        right = total = 0.0
        for rows in (slice(0, 30), slice(30, 90)):
            own, wanted = margins[rows, each], labels[rows] == each
            apart = own[wanted][:, None] - own[~wanted][None]
            right, total = right + (apart > 0).sum() + (apart == 0).sum() / 2, total + apart.size
        by_class.append(right / total)
    assert found["auc"] == pytest.approx(np.mean(by_class))


def test_many_classes_are_counted_one_by_one() -> None:
    rng = np.random.default_rng(5)
    classes = MAX_CONFUSION + 1
    labels, logits = rng.integers(classes, size=900), rng.normal(size=(900, classes))
    task = Task(count=classes)
    found, said = classified(task, logits, labels), logits.argmax(axis=1)
    assert len(found.counts) == 3 * classes
    metrics = metrics_of(task, found)
    assert metrics["balanced_accuracy"] == pytest.approx(judge.balanced_accuracy_score(labels, said))
    assert metrics["macro_f1"] == pytest.approx(judge.f1_score(labels, said, average="macro"))
    assert "auc" not in metrics


def test_an_output_that_is_no_class_is_wrong() -> None:
    """Three outputs, two classes: the second example is said to be what there is not."""
    task, labels = Task(count=2), np.array([0, 1])
    score, counts, _ = count_classes(task, np.array([[2.0, 0, 0], [0, 0, 2.0]]), labels)
    assert score.tolist() == [1, 1]
    assert counts.tolist() == [1, 0, 0, 0]


def test_ranks_of_ties_by_hand() -> None:
    """Pairs of one with it (2, 1) and one without (1, 0): 2 > 1, 2 > 0, 1 = 1, 1 > 0: three and a half of four."""
    scores = np.array([[2.0], [1.0], [1.0], [0.0]])
    there = np.array([[True], [True], [False], [False]])
    assert ranked_pairs(scores, there).tolist() == [3.5]


def test_metrics_of_flags_are_scikit_learns() -> None:
    rng = np.random.default_rng(6)
    flags = (rng.random((300, 4)) < [0.5, 0.2, 0.05, 0.0]).astype(np.uint8)  # the last one nobody has
    logits = rng.normal(size=(300, 4)) + 1.5 * flags - 0.5
    logits[:, 3] = -1
    task = Task(kind="multi-label", labels="flags", count=4)
    found = metrics_of(task, Evaluation(300, 0.5, *count_flags(logits, flags)))
    said = (logits > 0).astype(np.uint8)
    assert found["accuracy"] == pytest.approx((said == flags).mean())
    assert found["exact_match"] == pytest.approx(judge.accuracy_score(flags, said))
    assert found["macro_f1"] == pytest.approx(judge.f1_score(flags[:, :3], said[:, :3], average="macro"))
    assert found["auc"] == pytest.approx(judge.roc_auc_score(flags[:, :3], logits[:, :3], average="macro"))


def test_metrics_of_numbers_are_scikit_learns_in_the_labels_unit() -> None:
    rng = np.random.default_rng(7)
    task = Task(kind="regression", labels="number", centre=100.0, scale=20.0)
    labels = rng.normal(size=200).astype(np.float32)
    outputs = labels + rng.normal(size=200).astype(np.float32) * np.float32(0.3)
    found = Evaluation(200, 0.1, *add_no_counts(*count_numbers(task, outputs, labels)))
    metrics = metrics_of(task, found)
    wanted, given = 100 + 20.0 * labels.astype(float), 100 + 20.0 * outputs.astype(float)
    assert metrics["rmse"] == pytest.approx(judge.root_mean_squared_error(wanted, given))
    assert metrics["mae"] == pytest.approx(judge.mean_absolute_error(wanted, given))
    assert metrics["r2"] == pytest.approx(judge.r2_score(wanted, given))
    mean = np.full(200, 100.0)  # of the training labels
    always = baseline_metrics(task, [found])
    assert always["rmse"] == pytest.approx(judge.root_mean_squared_error(wanted, mean))
    assert always["mae"] == pytest.approx(judge.mean_absolute_error(wanted, mean))
    assert always["r2"] == pytest.approx(judge.r2_score(wanted, mean))
    squares = (wanted - given) ** 2
    error = squares.std() / np.sqrt(199) / (2 * np.sqrt(squares.mean()))  # of a root, by its slope
    value, deviation = main_metric(task, found)
    assert value == pytest.approx(metrics["rmse"])
    assert deviation == pytest.approx(error)


def add_no_counts(
    score: NDArray[np.float64], sums: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    return score, np.zeros(0, np.int64), sums


def test_the_baseline_says_the_most_frequent_class() -> None:
    """Six of ten examples are of class 1: four of five at the first client, two of five at the second."""
    task = Task(count=2)
    labels = [np.array([1, 1, 1, 1, 0]), np.array([1, 1, 0, 0, 0])]
    parts = [classified(task, np.zeros((5, 2)), each) for each in labels]
    found = baseline_metrics(task, parts)
    whole, said = np.concatenate(labels), np.ones(10, np.int64)
    assert found["accuracy"] == pytest.approx((0.8 + 0.4) / 2)
    assert found["balanced_accuracy"] == judge.balanced_accuracy_score(whole, said)
    assert found["macro_f1"] == pytest.approx(judge.f1_score(whole, said, average="macro"))
    assert found["log_loss"] == pytest.approx(judge.log_loss(whole, np.full((10, 2), [0.4, 0.6])))


def test_the_baseline_of_flags_says_each_ones_majority() -> None:
    rng = np.random.default_rng(8)
    flags = (rng.random((80, 3)) < [0.8, 0.3, 0.6]).astype(np.uint8)
    task = Task(kind="multi-label", labels="flags", count=3)
    found = baseline_metrics(task, [Evaluation(80, 0.5, *count_flags(rng.normal(size=(80, 3)), flags))])
    said = np.repeat((flags.mean(axis=0) > 0.5)[None], 80, axis=0).astype(np.uint8)
    assert found["accuracy"] == pytest.approx((said == flags).mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the second flag is never said
        assert found["macro_f1"] == pytest.approx(judge.f1_score(flags, said, average="macro"))


def test_a_standard_error_by_hand() -> None:
    """Eight of ten right: variance 0.16, over 9."""
    task, labels = Task(count=2), np.array([1] * 8 + [0] * 2)
    found = classified(task, np.tile([0.0, 1.0], (10, 1)), labels)
    value, deviation = main_metric(task, found)
    assert value == pytest.approx(0.8)
    assert deviation == pytest.approx((0.16 / 9) ** 0.5)
