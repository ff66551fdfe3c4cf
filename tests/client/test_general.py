"""The general path is torch's own SGD and a score as by hand, and no model leaves a trace in the next."""

from collections.abc import Callable
from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from client.plain import assert_agrees, examples
from fedclade.client.flat_module import FlatModule
from fedclade.client.general import GRADIENT_PIECE, General, Training
from fedclade.core import InputError, LocalTraining, Round, Row
from fedclade.core.training import SGD
from fedclade.data import Part, Pool
from fedclade.nets import Net, net_for
from fedclade.nets.losses import LanguageModel

EXAMPLES, FEATURES, CLASSES = 23, 5, 3
PART = examples(EXAMPLES, (FEATURES,), CLASSES, seed=7)
LINE = Net("line", lambda: nn.Linear(1, 2))
LOGITS_0_X: Row = np.array([0, 1, 0, 0], np.float32)  # the logits of x are (0, x): P(1) = e^x / (1 + e^x)
EVERYTHING = LocalTraining(batch=4, lr=0.05, epochs=3, optimizer=SGD(momentum=0.5, weight_decay=0.01))


def two_layers() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, CLASSES))


def frozen_middle() -> nn.Module:
    module = nn.Sequential(nn.Linear(FEATURES, 8), nn.Linear(8, 8), nn.Linear(8, CLASSES))
    module[1].requires_grad_(False)
    return module


def dropping() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.Dropout(0.5), nn.Linear(8, CLASSES))


def normalising() -> nn.Module:
    return nn.Sequential(nn.BatchNorm1d(FEATURES), nn.Linear(FEATURES, CLASSES))


def averaging() -> nn.Module:
    """Momentum None: plain averages over all batches, counted in a whole-number buffer."""
    return nn.Sequential(nn.BatchNorm1d(FEATURES, momentum=None), nn.Linear(FEATURES, CLASSES))


class Centred(nn.Module):
    """Keeps a running mean by putting a new tensor in the place of the buffer, as modules may."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(FEATURES, CLASSES)
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(FEATURES))

    def forward(self, inputs: Tensor) -> Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * inputs.mean(dim=0)
        logits: Tensor = self.layer(inputs - self.mean)
        return logits


def restless() -> nn.Module:
    """What would move in training: dropped units and running statistics."""
    return nn.Sequential(nn.Linear(1, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 2))


def train(net: Net, now: Round, part: Part = PART, client: str = "a") -> Row:
    return General(net).train(Training(net.initial_row(0), part, now, client))[0]


def part(inputs: list[float], labels: list[int]) -> Part:
    return Part(Pool(np.array(inputs, np.float32)[:, None], np.array(labels)), np.arange(len(labels)))


@pytest.mark.parametrize("make", [two_layers, frozen_middle])
@pytest.mark.parametrize("how", [LocalTraining(lr=0.1), LocalTraining(batch=100, lr=0.1, epochs=2), EVERYTHING])
def test_training_is_torchs_sgd(make: Callable[[], nn.Module], how: LocalTraining) -> None:
    net = Net("net", make)
    assert_agrees(General(net), net, Training(net.initial_row(1), PART, Round(3, 11, local=how), "a"))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_fedprox_is_the_proximal_gradient_by_hand(momentum: float) -> None:
    """Softmax regression in numpy: gradient X'(p - y)/n + mu (w - w_start)."""
    mu, lr = 0.7, 0.2
    net = Net("softmax", lambda: nn.Linear(FEATURES, CLASSES))
    start = net.initial_row(0)
    now = Round(2, 0, local=LocalTraining(batch=6, lr=lr, epochs=3, optimizer=SGD(momentum=momentum)), proximal=mu)
    row, plain = train(net, now), train(net, replace(now, proximal=0.0))

    weights = start.astype(np.float64)
    velocity, order = np.zeros_like(weights), now.generator("batches", "a")
    for _ in range(3):
        shuffled = order.permutation(EXAMPLES)
        for first in range(0, EXAMPLES, 6):
            batch = shuffled[first : first + 6]
            inputs = PART.inputs[batch].astype(np.float64)
            logits = inputs @ weights[:15].reshape(CLASSES, FEATURES).T + weights[15:]
            error = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) - np.eye(CLASSES)[PART.labels[batch]]
            slope = np.concatenate([(error.T @ inputs).reshape(-1), error.sum(axis=0)]) / len(batch)
            velocity = momentum * velocity + slope + mu * (weights - start)
            weights = weights - lr * velocity
    np.testing.assert_allclose(row, weights, rtol=0, atol=1e-6)
    assert np.linalg.norm(row - start) < np.linalg.norm(plain - start), "pulled back to where it started"


def test_dropout_follows_seed_round_and_client_alone() -> None:
    """On one single example the order of batches says nothing: what differs is dropped units."""
    net, single = Net("dropping", dropping), replace(PART, index=PART.index[:1])
    now = Round(1, 0, local=LocalTraining(batch=1, epochs=10, lr=0.1))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        before = torch.get_rng_state()
        same = train(net, now, single)
        assert torch.equal(torch.get_rng_state(), before), "torch's own randomness is left alone"
    assert same.tolist() == train(net, now, single).tolist()
    others = [train(net, replace(now, number=2), single), train(net, replace(now, seed=1), single)]
    others.append(train(net, now, single, "b"))
    assert len({tuple(row) for row in [same, *others]}) == 4
    plain = [train(Net("plain", two_layers), replace(now, number=number), single).tolist() for number in (1, 2)]
    assert plain[0] == plain[1]


def test_the_order_of_batches_follows_the_round() -> None:
    net, now = Net("net", two_layers), Round(1, 0)
    assert train(net, now).tolist() != train(net, replace(now, number=2)).tolist()


def test_batch_norm_statistics_move_in_training() -> None:
    """One batch of all: 0.9 * 0 + 0.1 * mean and 0.9 * 1 + 0.1 * unbiased variance, at the end of the row."""
    row = train(Net("normalising", normalising), Round(1, 0, local=LocalTraining(batch=EXAMPLES)))
    inputs = PART.inputs.astype(np.float64)
    expected = np.concatenate([0.1 * inputs.mean(axis=0), 0.9 + 0.1 * inputs.var(axis=0, ddof=1)])
    np.testing.assert_allclose(row[-2 * FEATURES :], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("make", [dropping, normalising, averaging, Centred])
def test_what_was_trained_before_does_not_matter(make: Callable[[], nn.Module]) -> None:
    """One seed, one answer: else a result depends on which clients shared a worker."""
    net, now = Net("net", make), Round(1, 0, local=LocalTraining(batch=8, optimizer=SGD(momentum=0.9)))
    path, asked = General(net), Training(net.initial_row(0), PART, now, "a")
    asked.start.flags.writeable = False
    row, loss = path.train(asked)
    kept = row.copy()
    path.train(Training(row, PART, replace(now, number=5), "b"))
    again, again_loss = path.train(asked)
    assert again.tolist() == row.tolist() == kept.tolist() != asked.start.tolist()
    assert again_loss == loss


def test_correct_and_loss_are_those_computed_by_hand() -> None:
    """x = ln 3 gives P(1) = 3/4. Right with ln(4/3), wrong with ln 4, right with ln(4/3)."""
    found = General(LINE).evaluate(LOGITS_0_X, part([log(3), -log(3), -log(3)], [1, 1, 0]))
    assert found.score.tolist() == [2, 2]
    assert found.loss == pytest.approx((2 * log(4 / 3) + log(4)) / 3, abs=1e-6)


@pytest.mark.parametrize("count", [1, 999, 1000, 1001, 2500])
def test_many_examples_are_scored_in_pieces_with_the_same_mean(count: int) -> None:
    """Every fifth is wrong, among them the first; a mean of the pieces' means would be off."""
    wrong = len(range(0, count, 5))
    labels = [int(number % 5 > 0) for number in range(count)]
    found = General(LINE).evaluate(LOGITS_0_X, part([log(3)] * count, labels))
    assert found.score[0] == count - wrong
    assert found.loss == pytest.approx((wrong * log(4) + (count - wrong) * log(4 / 3)) / count, abs=1e-5)


def test_each_model_has_its_loss() -> None:
    """All zeros: both classes equally likely, ln 2. Turned round: the loss of the wrong answer."""
    rows = np.stack([LOGITS_0_X, np.zeros(4, np.float32), -LOGITS_0_X])
    found = General(LINE).losses(rows, part([log(3)], [1]))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [log(4 / 3), log(2), log(4)], rtol=0, atol=1e-6)


def test_evaluating_changes_nothing_and_training_before_it_neither() -> None:
    net, some = Net("restless", restless), part([0.1, 2.0, -1.0, 0.5], [0, 1, 0, 1])
    fresh, used = General(net), General(net)
    asked = Training(net.initial_row(0), some, Round(1, 0, local=LocalTraining(lr=0.5, epochs=3)), "a")
    row, _ = used.train(asked)
    before = row.copy()
    for model in (row, net.initial_row(0), net.initial_row(1)):
        loss = used.evaluate(model, some).loss
        assert used.evaluate(model, some).loss == fresh.evaluate(model, some).loss == fresh.evaluate(model, some).loss
        logits = net.module(model)(torch.from_numpy(some.inputs))
        assert loss == pytest.approx(cross_entropy(logits, torch.from_numpy(some.labels)).item(), abs=1e-6)
    assert row.tolist() == before.tolist()
    assert fresh.train(asked)[0].tolist() == row.tolist(), "training does not depend on what was evaluated"


def test_statistics_in_the_row_are_those_that_count() -> None:
    """(x - mean) / sqrt(var): with mean 2 and variance 4, x = 2 + 2 ln 3 is ln 3; eps = 1e-5 hardly matters."""
    net = Net("norm", lambda: nn.Sequential(nn.BatchNorm1d(1), nn.Linear(1, 2)))
    # norm's weight and bias, the line of LOGITS_0_X, running mean and variance
    row = np.array([1, 0, *LOGITS_0_X, 2, 4], np.float32)
    found = General(net).evaluate(row, part([2 + 2 * log(3)], [1]))
    assert found.score[0] == 1
    assert found.loss == pytest.approx(log(4 / 3), abs=1e-5)


@pytest.mark.parametrize("make", [dropping, normalising, Centred])
def test_a_model_is_loaded_and_unloaded_as_it_is(make: Callable[[], nn.Module]) -> None:
    net = Net("net", make)
    row = np.random.default_rng(1).normal(size=net.size).astype(np.float32)
    flat = FlatModule(net)
    flat.load(row)
    unloaded = flat.unload()
    flat.load(net.initial_row(0))
    assert unloaded.tolist() == row.tolist(), "a row of its own"


def test_the_flat_weights_are_the_modules() -> None:
    """A change of the flat vector is a change of the layers, and the gradient arrives in one vector."""
    flat = FlatModule(Net("line", lambda: nn.Linear(2, 1)))
    flat.load(np.array([1, 2, 3], np.float32))
    output = flat.module(torch.tensor([[10.0, 100.0]]))
    assert output.item() == 1 * 10 + 2 * 100 + 3
    output.sum().backward()
    assert flat.gradient.tolist() == [10, 100, 1]
    flat.weights.mul_(2)
    assert flat.module(torch.tensor([[10.0, 100.0]])).item() == 2 * 213
    for size in (1, 2, 4):
        with pytest.raises(InputError, match="a row does not fit"):
            flat.load(np.zeros(size, np.float32))


# -- full gradients, in pieces ----------------------------------------------------------------------------------------

FULL = Round(1, 3, local=LocalTraining(batch=10**9, lr=1.0), dropout=False)


def convolving() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5), nn.Linear(3 * 4 * 4, CLASSES))


@pytest.mark.parametrize("count", [GRADIENT_PIECE, 2 * GRADIENT_PIECE + 50])
@pytest.mark.parametrize(
    ("make", "shape"),
    [(two_layers, (FEATURES,)), (dropping, (FEATURES,)), (normalising, (FEATURES,)), (convolving, (1, 6, 6))],
)
def test_a_full_gradient_is_torchs_over_all_examples_at_once(
    make: Callable[[], nn.Module], shape: tuple[int, ...], count: int
) -> None:
    """The last piece is shorter: unweighted pieces would be wrong. Units are not dropped, statistics not taken."""
    net, some = Net("any", make), examples(count, shape, CLASSES)
    start = net.initial_row(0)
    row, loss = General(net).train(Training(start, some, FULL, "a"))
    module = net.module(start).eval()
    wanted = cross_entropy(module(torch.from_numpy(some.inputs)), torch.from_numpy(some.labels))
    wanted.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    gradient = torch.cat([each.grad.reshape(-1) for each in module.parameters() if each.grad is not None])
    np.testing.assert_allclose((start - row)[: len(gradient)], gradient.numpy(), rtol=0, atol=1e-6)
    assert loss == pytest.approx(wanted.item(), rel=1e-6)


def test_pieces_weigh_as_much_as_the_classes_in_them() -> None:
    """Sorted by their labels, so that each piece has another weight in the mean."""
    net, some = Net("any", two_layers), examples(2 * GRADIENT_PIECE + 50, (FEATURES,), CLASSES)
    some = replace(some, index=some.index[np.argsort(some.labels, kind="stable")])
    ordered = replace(FULL, local=replace(FULL.local, steps=1, epochs=1, steps_from="epochs"), number=1)
    start, weights = net.initial_row(0), np.array([0.2, 1.0, 5.0], np.float32)
    row, loss = General(net).train(Training(start, some, ordered, "a", class_weights=weights))
    module = net.module(start).eval()
    logits, labels = module(torch.from_numpy(some.inputs)), torch.from_numpy(some.labels)
    wanted = cross_entropy(logits, labels, weight=torch.from_numpy(weights))
    wanted.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    gradient = torch.cat([each.grad.reshape(-1) for each in module.parameters() if each.grad is not None])
    np.testing.assert_allclose(start - row, gradient.numpy(), rtol=0, atol=1e-6)
    assert loss == pytest.approx(wanted.item(), rel=1e-6)


def test_a_gradient_is_clipped_with_its_pull_and_before_its_decay() -> None:
    """By torch, with FedProx's term as a part of the loss."""
    net, start, elsewhere = Net("net", two_layers), Net("net", two_layers).initial_row(0), np.float32(0.3)
    how = LocalTraining(batch=4, lr=0.05, clip_norm=0.2, optimizer=SGD(momentum=0.5, weight_decay=0.3))
    now, towards = Round(2, 1, local=how, proximal=0.7), start + elsewhere
    row, _ = General(net).train(Training(start, PART, now, "a", towards))
    module, inputs, labels = net.module(start).train(), torch.from_numpy(PART.inputs), torch.from_numpy(PART.labels)
    anchor = [parameter.detach() for parameter in net.module(towards).parameters()]
    sgd = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.5, weight_decay=0.3)
    order, norms = now.generator("batches", "a").permutation(EXAMPLES), list[float]()
    for first in range(0, EXAMPLES, 4):
        sgd.zero_grad()
        pull = sum(((mine - its) ** 2).sum() for mine, its in zip(module.parameters(), anchor, strict=True))
        batch = order[first : first + 4]
        loss = cross_entropy(module(inputs[batch]), labels[batch]) + 0.35 * pull
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        norms.append(float(nn.utils.clip_grad_norm_(module.parameters(), 0.2)))
        sgd.step()
    np.testing.assert_allclose(row, nn.utils.parameters_to_vector(module.parameters()).detach().numpy(), atol=1e-6)
    assert min(norms) > 0.2


def test_pieces_of_texts_weigh_as_many_words_as_they_have() -> None:
    """As many texts as two pieces hold, of one to five words each: the mean is over the words that follow one."""
    net = net_for("lstm", (5,), 4, {"predicts": "next-word", "vocabulary": 6, "embedding": 4, "hidden": 5})
    rng, count = np.random.default_rng(0), 2 * GRADIENT_PIECE
    texts = rng.integers(2, 6, (count, 5)) * (np.arange(5) < np.sort(rng.integers(1, 6, count))[:, None])
    some = Part(Pool(texts.astype(np.int32), np.zeros(count, np.int64)), np.arange(count))
    start = net.initial_row(0)
    module = net.module(start).eval()
    assert isinstance(module, LanguageModel)
    cross_entropy(*module.predictions(torch.from_numpy(some.inputs))).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    gradient = torch.cat([each.grad.reshape(-1) for each in module.parameters() if each.grad is not None])
    np.testing.assert_allclose(start - train(net, FULL, some), gradient.numpy(), rtol=0, atol=1e-6)


def test_no_more_examples_are_in_memory_than_a_piece_has() -> None:
    """Training with dropout and running statistics is another matter: a batch stays whole."""
    seen: list[int] = []

    class Counting(nn.Linear):
        def forward(self, inputs: Tensor) -> Tensor:
            seen.append(len(inputs))
            return super().forward(inputs)

    net, some = (
        Net("counting", lambda: Counting(FEATURES, CLASSES)),
        examples(GRADIENT_PIECE + 30, (FEATURES,), CLASSES),
    )
    train(net, FULL, some)
    train(net, replace(FULL, dropout=True), some)
    assert seen == [GRADIENT_PIECE, 30, GRADIENT_PIECE + 30]
