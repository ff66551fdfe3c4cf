"""Evaluation counts and averages as by hand, and leaves everything as it was."""

from math import log

import numpy as np
import pytest
from torch import nn

from fedclade.data import Part, Pool
from fedclade.local.evaluate import losses_of, score
from fedclade.local.train import train
from fedclade.local.workbench import Workbench
from fedclade.nets import Net
from fedclade.nouns import LocalTraining, Round, Row

LINE = Net("line", lambda: nn.Linear(1, 2))
LOGITS_0_X: Row = np.array([0, 1, 0, 0], np.float32)  # the logits of x are (0, x): P(1) = e^x / (1 + e^x)


def part(inputs: list[float], labels: list[int]) -> Part:
    return Part(Pool(np.array(inputs, np.float32)[:, None], np.array(labels)), np.arange(len(labels)))


def restless() -> nn.Module:
    """What would move in training: dropped units and running statistics."""
    return nn.Sequential(nn.Linear(1, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 2))


def test_correct_and_loss_are_those_computed_by_hand() -> None:
    """x = ln 3 gives P(1) = 3/4. Right with ln(4/3), wrong with ln 4, right with ln(4/3)."""
    correct, loss = score(Workbench(LINE), LOGITS_0_X, part([log(3), -log(3), -log(3)], [1, 1, 0]))
    assert correct == 2
    assert loss == pytest.approx((2 * log(4 / 3) + log(4)) / 3, abs=1e-6)


@pytest.mark.parametrize("examples", [1, 999, 1000, 1001, 2500])
def test_many_examples_are_scored_in_pieces_with_the_same_mean(examples: int) -> None:
    """Every fifth is wrong, among them the first; a mean of the pieces' means would be off."""
    wrong = [number % 5 == 0 for number in range(examples)]
    correct, loss = score(Workbench(LINE), LOGITS_0_X, part([log(3)] * examples, [0 if bad else 1 for bad in wrong]))
    assert correct == examples - sum(wrong)
    assert loss == pytest.approx((sum(wrong) * log(4) + (examples - sum(wrong)) * log(4 / 3)) / examples, abs=1e-5)


def test_each_model_has_its_loss() -> None:
    """All zeros: both classes equally likely, ln 2. Turned round: the loss of the wrong answer."""
    rows = np.stack([LOGITS_0_X, np.zeros(4, np.float32), -LOGITS_0_X])
    found = losses_of(Workbench(LINE), rows, part([log(3)], [1]))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [log(4 / 3), log(2), log(4)], rtol=0, atol=1e-6)


def test_evaluating_twice_gives_the_same_and_changes_nothing() -> None:
    net = Net("restless", restless)
    bench, row = Workbench(net), np.random.default_rng(3).uniform(0.5, 1.5, size=net.size).astype(np.float32)
    before, some = row.copy(), part([0.1, 2.0, -1.0, 0.5], [0, 1, 0, 1])
    first = score(bench, row, some)
    assert bench.unload().tolist() == before.tolist(), "the model"
    assert score(bench, row, some) == first
    assert row.tolist() == before.tolist(), "the row given"


def test_evaluating_does_not_depend_on_what_was_trained_before() -> None:
    """The bench comes from training, with dropout on, other weights and other statistics."""
    net, some = Net("restless", restless), part([0.1, 2.0, -1.0, 0.5], [0, 1, 0, 1])
    fresh, used = Workbench(net), Workbench(net)
    row, _ = train(used, net.first(0), some, Round(1, 0, local=LocalTraining(lr=0.5, epochs=3)), "a")
    for model in (row, net.first(0), net.first(1)):
        assert score(used, model, some) == score(fresh, model, some)


def test_training_does_not_depend_on_what_was_evaluated_before() -> None:
    net, some = Net("restless", restless), part([0.1, 2.0, -1.0, 0.5], [0, 1, 0, 1])
    fresh, used = Workbench(net), Workbench(net)
    score(used, net.first(1), some)
    rows = [train(bench, net.first(0), some, Round(1, 0), "a")[0].tolist() for bench in (fresh, used)]
    assert rows[0] == rows[1] != net.first(0).tolist()


def test_statistics_in_the_row_are_those_that_count() -> None:
    """(x - mean) / sqrt(var): with mean 2 and variance 4, x = 2 + 2 ln 3 is ln 3; eps = 1e-5 hardly matters."""
    net = Net("norm", lambda: nn.Sequential(nn.BatchNorm1d(1), nn.Linear(1, 2)))
    # norm's weight and bias, the line of LOGITS_0_X, running mean and variance
    row = np.array([1, 0, *LOGITS_0_X, 2, 4], np.float32)
    correct, loss = score(Workbench(net), row, part([2 + 2 * log(3)], [1]))
    assert correct == 1
    assert loss == pytest.approx(log(4 / 3), abs=1e-5)
