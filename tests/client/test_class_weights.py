"""Class weights: by hand, and as torch has them for flags; refused where there is nothing to weigh."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from fedclade.client import check_class_weights
from fedclade.client.class_weights import class_weights_for
from fedclade.client.general import General, Training
from fedclade.core import LocalTraining, Round
from fedclade.core.task import Task
from fedclade.data import Part, Pool
from fedclade.nets import Net
from refusals import check_refused

BALANCED = LocalTraining(class_weights="balanced")
FLAGS = Task(kind="multi-label", count=3, labels="flags")


def test_balanced_classes_weigh_the_same_in_sum() -> None:
    """Of eight examples six are of class 0 and two of class 2: 8 / (2 * 6) and 8 / (2 * 2), which are 4 each in sum."""
    weights = class_weights_for(Task(count=4), BALANCED, np.array([0, 0, 2, 0, 0, 2, 0, 0]))
    assert weights is not None
    np.testing.assert_allclose(weights[[0, 2]], [2 / 3, 2], rtol=1e-6)
    assert np.isfinite(weights).all()


def test_a_balanced_flag_weighs_as_much_as_its_absence() -> None:
    """Flag 0 is there once in four, flag 1 always, flag 2 never: where one is alone there is nothing to balance."""
    labels = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]], np.uint8)
    assert class_weights_for(FLAGS, BALANCED, labels).tolist() == [3, 1, 1]  # type: ignore[union-attr]  # they are asked for


def test_numbers_are_taken_as_they_are_and_none_is_none() -> None:
    given = LocalTraining(class_weights=(0.5, 2.0))
    assert class_weights_for(Task(count=2), given, np.array([1, 1])).tolist() == [0.5, 2]  # type: ignore[union-attr]
    assert class_weights_for(Task(count=2), LocalTraining(), np.array([0, 1])) is None


def test_flags_are_weighed_as_by_torchs_pos_weight() -> None:
    rng = np.random.default_rng(0)
    pool = Pool(rng.normal(size=(12, 5)).astype(np.float32), (rng.random((12, 3)) < 0.3).astype(np.uint8))
    net, part = Net("flags", lambda: nn.Linear(5, 3), wanted=FLAGS), Part(pool, np.arange(12))
    start, now = net.initial_row(0), Round(1, 0, local=LocalTraining(batch=12, lr=1.0))
    weights = np.array([1.0, 4.0, 0.5], np.float32)
    row, loss = General(net).train(Training(start, part, now, "a", class_weights=weights))
    module = net.module(start)
    wanted = binary_cross_entropy_with_logits(
        module(torch.from_numpy(part.inputs)),
        torch.from_numpy(part.labels).float(),
        pos_weight=torch.from_numpy(weights),
    )
    wanted.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    gradient = torch.cat([each.grad.reshape(-1) for each in module.parameters() if each.grad is not None])
    np.testing.assert_allclose(start - row, gradient.numpy(), atol=1e-6)
    assert loss == pytest.approx(wanted.item(), rel=1e-6)


def test_a_net_may_have_more_outputs_than_there_are_classes() -> None:
    net = Net("wide", lambda: nn.Linear(2, 5), wanted=Task(count=3))
    part = Part(Pool(np.eye(2, dtype=np.float32), np.array([0, 2])), np.arange(2))
    asked = Training(net.initial_row(0), part, Round(1, 0), "a", class_weights=np.ones(3, np.float32))
    assert np.isfinite(General(net).train(asked)[0]).all()


def test_weights_need_classes() -> None:
    given = LocalTraining(class_weights=(0.5, 2.0))
    check_class_weights(given, Task(count=2))
    check_class_weights(BALANCED, FLAGS)
    check_class_weights(LocalTraining(), Task(kind="regression", labels="number"))
    said = r"do not fit the classes, local\.class_weights: got 2 numbers, need 3"
    check_refused(said, check_class_weights, given, FLAGS)
    number = Task(kind="regression", labels="number")
    check_refused(r'got a task of regression.*do: local\.class_weights = "none"', check_class_weights, BALANCED, number)
    own = Task(kind="own", count=2)
    check_refused("do: weigh examples inside your loss", check_class_weights, BALANCED, own)
