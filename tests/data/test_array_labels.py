"""What labels in arrays say is to be learned, and how they are standardised."""

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import TensorDataset

from fedclade.core.task import Task
from fedclade.data import Federation, from_arrays
from fedclade.data.array_labels import ArrayTask
from fedclade.data.number_labels import number_task, standardise
from fedclade.data.shares import split
from refusals import check_refused

INPUTS: NDArray[np.float64] = np.arange(60, dtype=np.float64).reshape(30, 2) / 7
NUMBERS: NDArray[np.float64] = np.arange(30, dtype=np.float64) * 2.5 - 11
CLASSES: NDArray[np.int64] = np.arange(30) % 3
FLAGS: NDArray[np.int64] = np.stack([CLASSES == 0, CLASSES < 2], axis=1).astype(np.int64)


def read(
    labels: ArrayLike, other: ArrayLike | None = None, task: ArrayTask = "auto", loss: str = "default"
) -> Federation:
    rest = labels if other is None else other
    return from_arrays({"a": (INPUTS, labels), "b": (INPUTS, rest)}, task=task, loss=loss, name="mine")  # type: ignore[arg-type]  # loss: also a wrong one


@pytest.mark.parametrize(
    ("labels", "task", "kind"),
    [
        (NUMBERS, "auto", "regression"),
        (NUMBERS[:, None], "auto", "regression"),
        (NUMBERS.astype(np.float32), "auto", "regression"),
        (np.arange(30.0), "auto", "regression"),  # more whole numbers than classes usually are
        (CLASSES, "auto", "classification"),
        (CLASSES.astype(np.float64), "auto", "classification"),
        (CLASSES.astype(str), "auto", "classification"),
        (FLAGS, "auto", "multi-label"),
        (FLAGS.astype(bool), "auto", "multi-label"),
        (FLAGS.astype(np.float32), "auto", "multi-label"),
        (FLAGS[:, :1], "auto", "multi-label"),
        (CLASSES, "regression", "regression"),
        (CLASSES > 0, "regression", "regression"),
        (CLASSES - 7, "regression", "regression"),
        (NUMBERS, "reconstruction", "reconstruction"),
    ],
)
def test_labels_say_what_is_learned(labels: NDArray[np.generic], task: ArrayTask, kind: str) -> None:
    assert read(labels, task=task).task.kind == kind


def test_what_could_be_something_else_is_said() -> None:
    assert read(NUMBERS).notes == (
        'labels are numbers: a regression; task="classification" reads whole ones as classes',
    )
    whole = read(CLASSES.astype(np.float64))
    assert whole.notes == ('labels are 3 whole numbers: classes; task="regression" reads them as numbers',)
    assert whole.classes == 3
    many = from_arrays({"a": (np.arange(240.0).reshape(120, 2), np.arange(120))})
    assert many.notes == ('labels are 120 different whole numbers: classes; task="regression" reads them as numbers',)
    assert read(CLASSES).notes == read(FLAGS).notes == read(NUMBERS, task="regression").notes == ()


@pytest.mark.parametrize(
    ("labels", "task", "said"),
    [
        (NUMBERS, "classification", 'do not fit the inputs, mine, client "a": got float64 .*need whole numbers'),
        (CLASSES.astype(str), "regression", 'not numbers, mine, client "a": got <U'),
        (FLAGS, "regression", 'not numbers, mine, client "a": got int64 \\(30, 2\\), need numbers \\(30,\\)'),
        (NUMBERS * np.nan, "auto", 'not finite, mine, client "a": got NaN or infinity in 30 of 30'),
        (NUMBERS * 0 + 3.5, "auto", "all labels are the same, mine: got 3.5 everywhere"),
        (NUMBERS * 1e300, "auto", "labels are too large, mine"),
        (NUMBERS[:29], "auto", 'do not fit the inputs, mine, client "a": got float64 \\(29,\\), need one for each: 30'),
        (CLASSES[:, None] + FLAGS, "auto", 'do not fit the inputs, mine, client "a": got int64 \\(30, 2\\)'),
        (CLASSES, "multi-label", 'not flags, mine, client "a": got int64 \\(30,\\), 0 to 2, need 0 and 1'),
        (FLAGS * 0, "auto", "no example has a flag, mine"),
        (CLASSES - 1, "auto", 'negative.* do: task="regression"'),
        (CLASSES, "regresion", 'task is not known, mine, task: .*did you mean "regression"'),
        (INPUTS, "next-word", 'inputs are not words, mine, client "a": got float64 \\(30, 2\\)'),
    ],
)
def test_what_labels_cannot_be_is_refused(labels: NDArray[np.generic], task: ArrayTask, said: str) -> None:
    check_refused(said, read, labels, task=task)


def test_clients_say_the_same() -> None:
    said = 'client "b": got float64 .* with fractions, need whole .*as other clients have; do: task="regression"'
    check_refused(said, read, CLASSES, NUMBERS)
    assert read(CLASSES, NUMBERS, task="regression").task.kind == "regression"
    assert read(CLASSES, CLASSES.astype(np.float64)).classes == 3  # a gap that was filled makes fractions of a type
    check_refused("clients have other flags, mine: got 1 and 2 columns", read, FLAGS, FLAGS[:, :1])


def test_a_loss_is_one_of_a_regression() -> None:
    assert read(NUMBERS, loss="huber").task.loss == "huber"
    check_refused('loss does nothing, mine, loss: got "huber" of classification', read, CLASSES, loss="huber")
    check_refused("loss is not usable.*got 'l1'", read, NUMBERS, loss="l1")


def test_numbers_are_standardised_over_the_training_rows_of_all_clients() -> None:
    """Training labels 1, 3 and 5, 7: mean 4, deviation the root of (9 + 1 + 1 + 9) / 4. Test labels do not count."""
    pair = (INPUTS[:2], [1.5, 3.5]), (INPUTS[:2], [5.5, 7.5])
    rest = (INPUTS[:1], [1000.5])
    made = from_arrays({"a": pair[0], "b": pair[1]}, test={"a": rest, "b": rest})
    assert made.task.centre == 4.5
    assert made.task.scale == pytest.approx(np.sqrt(5))
    np.testing.assert_allclose(made["a"].train.labels, np.array([-3, -1]) / np.sqrt(5), rtol=1e-6)
    np.testing.assert_allclose(made["b"].test.labels, [996 / np.sqrt(5)], rtol=1e-6)
    assert made["a"].train.labels.dtype == np.float32


def test_large_offsets_cost_no_digits() -> None:
    """float32 holds seven digits: it is the standardised label that is kept in it."""
    made = from_arrays({"a": (INPUTS, 1e9 + NUMBERS), "b": (INPUTS, 1e9 + NUMBERS)})
    labels = made["a"].train.labels.astype(np.float64) * made.task.scale + made.task.centre - 1e9
    np.testing.assert_allclose(labels, NUMBERS[made["a"].train.index], atol=1e-4)


def test_edges_cut_labels_into_intervals_of_as_many() -> None:
    labels = [np.arange(50.0), np.arange(50.0, 99.0)]
    task = number_task(labels, "mine")
    assert task.label_kinds == 3
    kinds = task.kinds_of(standardise(task, np.arange(99.0)))
    assert kinds.argmax(axis=1).tolist() == [number // 33 for number in range(99)]


def test_a_label_that_is_often_the_same_has_fewer_intervals() -> None:
    """A third of 60 zeros and 60 others ends among the zeros, which stay together; so do 90 zeros of 100."""
    for zeros, others, kinds in ((60, 60, [80, 40]), (90, 10, [90, 10])):
        labels = np.concatenate([np.zeros(zeros), np.arange(1.0, others + 1.0)])
        task = number_task([labels], "mine")
        assert task.kinds_of(standardise(task, labels)).sum(axis=0).tolist() == kinds


def test_datasets_may_have_flags_and_numbers() -> None:
    inputs = torch.tensor(INPUTS)
    flags = from_arrays(
        {"a": TensorDataset(inputs, torch.tensor(FLAGS)), "b": TensorDataset(inputs, torch.tensor(FLAGS))}
    )
    assert flags.task == Task(kind="multi-label", count=2, labels="flags")
    assert flags["a"].train.labels.tolist() == FLAGS[flags["a"].train.index].tolist()
    assert from_arrays({"a": TensorDataset(inputs, torch.tensor(NUMBERS))}).task.kind == "regression"


def test_inputs_are_enough_where_labels_are_not_used() -> None:
    images = np.arange(120, dtype=np.uint8).reshape(10, 3, 4)
    alone = from_arrays({"a": images, "b": images}, task="reconstruction")
    labelled = from_arrays({"a": (images, None), "b": (images, np.arange(10))}, task="reconstruction")
    assert alone.fingerprint == labelled.fingerprint
    words = from_arrays({"a": np.arange(40).reshape(10, 4)}, task="next-word")
    assert words["a"].train.inputs.dtype == np.int64


def test_a_split_of_numbers_has_its_share() -> None:
    numbers = NUMBERS.astype(np.float32)
    learned, tested = split(np.arange(30), numbers, 0.2, (0, "own"))
    assert (len(learned), len(tested)) == (24, 6)
    assert sorted([*learned, *tested]) == list(range(30))
