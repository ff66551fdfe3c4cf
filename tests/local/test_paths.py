"""Every path is plain sequential SGD on the same batches, to 1e-5 after an epoch, and to the bit in any company."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from fedclade.data import Part, Pool
from fedclade.local.batched import Batched
from fedclade.local.convolution import Convolution, convolutional
from fedclade.local.general import General, Training
from fedclade.local.kernel import Kernel, library
from fedclade.local.plan import Path, plan
from fedclade.local.stack import Stack, stack_of
from fedclade.nets import Net, net_for
from fedclade.nouns import InputError, LocalTraining, Round, Row
from local.plain import examples, plain_sgd

FEATURES, CLASSES = 13, 5


def linear() -> nn.Module:
    return nn.Linear(FEATURES, CLASSES)


def without_bias() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 9, bias=False), nn.ReLU(), nn.Linear(9, CLASSES, bias=False))


def three_layers() -> nn.Module:
    return nn.Sequential(
        nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 33), nn.ReLU()),
        nn.Linear(33, 16),
        nn.ReLU(),
        nn.Linear(16, 7),  # no ReLU behind it
        nn.Linear(7, CLASSES),
    )


def dropping() -> nn.Module:
    """Dropout of the inputs, behind ReLU, in front of it, and where there is none."""
    return nn.Sequential(
        nn.Dropout(0.1),
        nn.Linear(FEATURES, 12),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(12, 11),
        nn.Dropout(0.3),
        nn.ReLU(),
        nn.Linear(11, 8),
        nn.Dropout(0.2),
        nn.Linear(8, CLASSES),
    )


STACKS: dict[str, Callable[[], nn.Module]] = {
    made.__name__: made for made in (linear, without_bias, three_layers, dropping)
}
WAYS = {
    "plain": LocalTraining(batch=10, lr=0.1),
    "momentum": LocalTraining(batch=10, lr=0.05, momentum=0.9),
    "weight decay": LocalTraining(batch=10, lr=0.1, weight_decay=0.1),
    "everything": LocalTraining(batch=7, lr=0.05, momentum=0.5, weight_decay=0.01, epochs=3),
    "short last batch": LocalTraining(batch=4, lr=0.1),
    "one by one": LocalTraining(batch=1, lr=0.02),
    "batch over all": LocalTraining(batch=1000, lr=0.1, epochs=2),
}


def stack(net: Net) -> Stack:
    found = stack_of(net)
    assert found is not None
    return found


def kernel(kind: str) -> Callable[[Net], Path]:
    def made(net: Net) -> Path:
        functions = library("fast" if kind == "fast" else "plain")
        if functions is None:
            pytest.skip("the kernel is not built here")
        return Kernel(stack(net), functions, General(net))

    return made


PATHS: dict[str, Callable[[Net], Path]] = {
    "kernel": kernel("fast"),
    "kernel without AVX": kernel("plain"),
    "batched": lambda net: Batched(stack(net), General(net)),
    "general": General,
}


def agrees(path: Path, net: Net, part: Part, now: Round, towards: Row | None = None) -> None:
    start = net.first(1)
    wanted = plain_sgd(net, start, part, now, "a", towards)
    row, loss = path.train(start, part, now, "a", towards)
    np.testing.assert_allclose(row, wanted.row, rtol=0, atol=1e-5)
    assert loss == pytest.approx(wanted.loss, abs=1e-5)
    assert row.dtype == np.float32
    assert np.abs(row - start).max() > 1e-4


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("made", STACKS)
@pytest.mark.parametrize("way", WAYS)
def test_a_stack_is_trained_as_by_plain_sgd(path: str, made: str, way: str) -> None:
    net = Net(made, STACKS[made])
    agrees(PATHS[path](net), net, examples(23, (FEATURES,), CLASSES), Round(3, 11, local=WAYS[way]))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("way", ["plain", "momentum", "weight decay", "everything"])
def test_fedprox_pulls_on_every_path(path: str, way: str) -> None:
    net = Net("three layers", three_layers)
    agrees(PATHS[path](net), net, examples(23, (FEATURES,), CLASSES), Round(3, 11, local=WAYS[way], proximal=0.7))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("way", ["plain", "momentum", "everything"])
def test_a_pull_may_be_to_another_model(path: str, way: str) -> None:
    net, part = Net("three layers", three_layers), examples(23, (FEATURES,), CLASSES)
    now = Round(3, 11, local=WAYS[way], proximal=0.7)
    agrees(PATHS[path](net), net, part, now, towards=net.first(8))
    asked = [Training(net.first(1), part, now, "a", net.first(8)), Training(net.first(1), part, now, "a")]
    rows = [row for row, _ in PATHS[path](net).train_all(asked)]  # side by side, each with its own
    np.testing.assert_allclose(rows[0], plain_sgd(net, net.first(1), part, now, "a", net.first(8)).row, atol=1e-5)
    np.testing.assert_allclose(rows[1], plain_sgd(net, net.first(1), part, now, "a").row, atol=1e-5)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["mlp", "logistic"])
@pytest.mark.parametrize("count", [1, 9, 10, 11, 57])
def test_our_nets_on_images_kept_as_bytes(path: str, name: str, count: int) -> None:
    net = net_for(name, (1, 28, 28), 10)
    part = examples(count, (1, 28, 28), 10, as_bytes=True)
    agrees(PATHS[path](net), net, part, Round(1, 0, local=LocalTraining(momentum=0.5)))
    turned = replace(part, quarter_turns=1, relabel=np.arange(10)[::-1].copy())
    agrees(PATHS[path](net), net, turned, Round(1, 0, local=LocalTraining(batch=32)))


@pytest.mark.parametrize("path", PATHS)
def test_wide_layers_are_worked_on_in_pieces(path: str) -> None:
    net = Net("wide", lambda: nn.Sequential(nn.Linear(2500, 6), nn.ReLU(), nn.Linear(6, 1100), nn.Linear(1100, 3)))
    agrees(PATHS[path](net), net, examples(13, (2500,), 3), Round(1, 0, local=LocalTraining(lr=0.01, momentum=0.5)))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("made", [*STACKS, "mlp"])
def test_scores_and_losses_are_those_of_the_module(path: str, made: str) -> None:
    net = net_for("mlp", (FEATURES,), CLASSES) if made == "mlp" else Net(made, STACKS[made])
    part, rows = examples(130, (FEATURES,), CLASSES), np.stack([net.first(number) for number in range(4)])
    labels = torch.from_numpy(part.labels)
    found = PATHS[path](net).losses(rows, part)
    for row, loss in zip(rows, found, strict=True):
        with torch.inference_mode():
            logits = net.module(row)(torch.from_numpy(part.inputs))
        assert loss == pytest.approx(nn.functional.cross_entropy(logits, labels).item(), abs=1e-6)
        correct, same = PATHS[path](net).score(row, part)
        assert correct == int((logits.argmax(dim=1) == labels).sum())
        assert same == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize("path", PATHS)
def test_a_clients_bits_are_its_own(path: str) -> None:
    """Not those of who was trained before it, nor of where its numbers lie in memory."""
    net, now = net_for("mlp", (FEATURES,), CLASSES), Round(1, 0, local=LocalTraining(batch=8, momentum=0.5))
    part, start = examples(23, (FEATURES,), CLASSES), net.first(0)
    trained, loss = PATHS[path](net).train(start, part, now, "a")
    used = PATHS[path](net)
    used.train(net.first(1), examples(31, (FEATURES,), CLASSES, seed=1), now, "b")
    for shift in (1, 2, 3, 5):
        moved = np.concatenate([np.zeros(shift, np.float32), start])[shift:]
        assert not moved.flags.owndata
        again, same = used.train(moved, part, now, "a")
        assert again.tobytes() == trained.tobytes()
        assert same == loss


def test_whoever_stands_beside_a_client_changes_no_bit_of_it() -> None:
    """One client alone, as Flower asks, or in any company, in any order: ragged sizes, other starts, other batches."""
    for shape, name, how in (
        ((1, 28, 28), "mlp", LocalTraining(batch=10)),
        ((FEATURES,), "mlp", LocalTraining(batch=8, momentum=0.9, epochs=2)),
        ((FEATURES,), "logistic", LocalTraining(batch=8, weight_decay=0.1)),
    ):
        net, now = net_for(name, shape, CLASSES), Round(1, 0, local=how, proximal=0.1)
        path = Batched(stack(net), General(net))
        asked = [
            Training(net.first(number % 3), examples(count, shape, CLASSES, seed=number), now, f"client-{number}")
            for number, count in enumerate((23, 8, 40, 3, 16, 17, 1))
        ]
        alone = [path.train_all([each])[0] for each in asked]
        for company in (list(range(7)), [6, 5, 4, 3, 2, 1, 0], [2, 0], [4, 5, 1]):
            for number, (row, loss) in zip(company, path.train_all([asked[number] for number in company]), strict=True):
                assert row.tobytes() == alone[number][0].tobytes(), (name, company, number)
                assert loss == alone[number][1]


@pytest.mark.slow
def test_nor_in_nets_of_any_form() -> None:
    """Products round by where their numbers lie, and by their form: layers of one unit, odd widths, short batches."""
    chance = np.random.default_rng(0)
    for turn in range(40):
        widths = chance.choice([1, 2, 3, 5, 8, 13, 17, 32, 64, 100, 200], size=int(chance.integers(2, 5))).tolist()
        net = Net("any", partial(layers_of, widths))
        how = LocalTraining(batch=int(chance.choice([1, 2, 3, 7, 10, 33])), lr=0.01, momentum=0.5, epochs=2)
        now, path = Round(1, turn, local=how), Batched(stack(net), General(net))
        asked = [
            Training(net.first(0), examples(int(count), (widths[0],), widths[-1], seed=number), now, f"client-{number}")
            for number, count in enumerate(chance.choice([1, 2, 5, 10, 11, 23], size=5))
        ]
        for each, (row, loss) in zip(asked, path.train_all(asked), strict=True):
            alone, same = path.train_all([each])[0]
            assert row.tobytes() == alone.tobytes(), (widths, how.batch)
            assert loss == same


def layers_of(widths: list[int]) -> nn.Module:
    return nn.Sequential(*(nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths)))


@pytest.mark.parametrize("path", PATHS)
def test_what_does_not_fit_is_refused_as_on_the_general_path(path: str) -> None:
    net = Net("linear", linear)
    chosen, now = PATHS[path](net), Round(1, 0)
    part = examples(6, (FEATURES,), CLASSES)
    with pytest.raises(InputError, match="a row does not fit"):
        chosen.train(net.first(0)[1:], part, now, "a")
    with pytest.raises(InputError, match="a row does not fit"):
        chosen.score(net.first(0)[1:], part)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        chosen.train(net.first(0), examples(6, (FEATURES + 1,), CLASSES), now, "a")
    too_many = Part(Pool(part.pool.inputs, part.pool.labels + CLASSES), part.index)
    with pytest.raises(IndexError, match="out of bounds"):
        chosen.train(net.first(0), too_many, now, "a")
    with pytest.raises(IndexError, match="out of bounds"):
        chosen.losses(net.first(0)[None], too_many)


@pytest.mark.parametrize("path", PATHS)
def test_inputs_that_are_not_flat_keep_their_shape_without_flatten(path: str) -> None:
    """nn.Linear works on the last axis: 3 x 13 inputs are not 39 features, and this module wants 13."""
    net = Net("linear", linear)
    with pytest.raises((RuntimeError, ValueError)):
        PATHS[path](net).train(net.first(0), examples(6, (3, FEATURES), CLASSES), Round(1, 0), "a")


@pytest.mark.parametrize("path", PATHS)
def test_a_model_that_diverges_is_not_finite(path: str) -> None:
    net = net_for("mlp", (FEATURES,), CLASSES)
    inputs: NDArray[np.float32] = np.full((20, FEATURES), 1e30, np.float32)
    part = Part(Pool(inputs, np.arange(20) % CLASSES), np.arange(20))
    row, loss = PATHS[path](net).train(net.first(0), part, Round(1, 0, local=LocalTraining(lr=1e9)), "a")
    assert not np.isfinite(row).all()
    assert not np.isfinite(loss)


def padded_oddly() -> nn.Module:
    """Odd sizes, a stride, no bias, pooling in front of ReLU, a convolution without pooling, dropout in the head."""
    return nn.Sequential(
        nn.Conv2d(2, 4, (3, 5), padding=(1, 0), bias=False),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(4, 5, 3, stride=2, padding=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(5 * 4 * 3, 12),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(12, CLASSES),
    )


CNNS = {
    "leaf_cnn": net_for("leaf_cnn", (1, 12, 12), CLASSES),
    "lenet": net_for("lenet", (1, 28, 28), CLASSES),
    "cfl_cnn": net_for("cfl_cnn", (3, 16, 16), CLASSES),
    "abc_cnn": net_for("abc_cnn", (1, 13, 13), CLASSES),
    "padded oddly": Net("padded oddly", padded_oddly),
}
SHAPES = {
    "leaf_cnn": (1, 12, 12),
    "lenet": (1, 28, 28),
    "cfl_cnn": (3, 16, 16),
    "abc_cnn": (1, 13, 13),
    "padded oddly": (2, 13, 11),
}


def convolution(net: Net) -> Path:
    form, functions = convolutional(net), library()
    assert form is not None
    if functions is None:
        pytest.skip("the kernel is not built here")
    return Convolution(form, functions, General(net))


@pytest.mark.parametrize("name", CNNS)
@pytest.mark.parametrize("way", WAYS)
def test_a_convolutional_net_is_trained_as_by_plain_sgd(name: str, way: str) -> None:
    how = replace(WAYS[way], lr=0.02)
    agrees(convolution(CNNS[name]), CNNS[name], examples(23, SHAPES[name], CLASSES), Round(3, 11, local=how))


@pytest.mark.parametrize("name", CNNS)
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_fedprox_pulls_on_convolutions_too(name: str, momentum: float) -> None:
    how = LocalTraining(batch=9, lr=0.02, momentum=momentum)
    part = examples(20, SHAPES[name], CLASSES, as_bytes=True)
    now = Round(3, 11, local=how, proximal=0.7)
    agrees(convolution(CNNS[name]), CNNS[name], part, now)
    agrees(convolution(CNNS[name]), CNNS[name], part, now, towards=CNNS[name].first(8))


@pytest.mark.parametrize("name", CNNS)
def test_the_bits_of_a_convolutional_net_are_the_clients_own(name: str) -> None:
    net, now = CNNS[name], Round(1, 0, local=LocalTraining(batch=8, momentum=0.5))
    part, start = examples(23, SHAPES[name], CLASSES), net.first(0)
    trained, loss = convolution(net).train(start, part, now, "a")
    used = convolution(net)
    used.train(net.first(1), examples(31, SHAPES[name], CLASSES, seed=1), now, "b")
    again, same = used.train(np.concatenate([np.zeros(3, np.float32), start])[3:], part, now, "a")
    assert again.tobytes() == trained.tobytes()
    assert same == loss


def test_a_convolutional_net_refuses_what_the_general_path_refuses() -> None:
    net, now = CNNS["abc_cnn"], Round(1, 0)
    part = examples(6, (1, 13, 13), CLASSES)
    too_many = Part(Pool(part.pool.inputs, part.pool.labels + CLASSES), part.index)
    with pytest.raises(IndexError, match="out of bounds"):
        convolution(net).train(net.first(0), too_many, now, "a")
    with pytest.raises(RuntimeError):
        convolution(net).train(net.first(0), examples(6, (1, 40, 40), CLASSES), now, "a")
    with pytest.raises(InputError, match="a row does not fit"):
        convolution(net).train(net.first(0)[1:], part, now, "a")


def test_the_general_path_can_be_asked_for() -> None:
    net = net_for("mlp", (FEATURES,), CLASSES)
    assert plan(net, "general").name == "general"
    assert plan(net).name == ("batched" if library() is None else "kernel")


@pytest.mark.slow
def test_a_net_that_reads_words_is_trained_as_by_plain_sgd() -> None:
    """The LSTM takes the general path; and so does whatever the planner does not know."""
    net = net_for("lstm", (7,), CLASSES)
    words = np.random.default_rng(0).integers(1, 90, size=(23, 7), dtype=np.int32)
    part = Part(Pool(words, np.arange(23) % CLASSES), np.arange(23))
    for way in ("plain", "everything"):
        agrees(plan(net), net, part, Round(3, 11, local=replace(WAYS[way], lr=0.5)))
    assert plan(net).name == "general"


@pytest.mark.parametrize("name", ["leaf_cnn", "abc_cnn"])
def test_nan_goes_through_a_convolutional_net(name: str) -> None:
    """A model that is broken stays broken: pooling and ReLU must not hide it."""
    net, part = CNNS[name], examples(6, SHAPES[name], CLASSES)
    broken = net.first(0)
    broken[0] = np.nan
    row, loss = convolution(net).train(broken, part, Round(1, 0), "a")
    wanted = plain_sgd(net, broken, part, Round(1, 0), "a")
    assert np.isnan(loss)
    assert np.isnan(wanted.loss)
    np.testing.assert_array_equal(np.isnan(row), np.isnan(wanted.row))


@pytest.mark.parametrize("path", PATHS)
def test_what_the_kernel_must_not_read_is_sent_to_torch(path: str) -> None:
    """Positions from the end, and labels of another type: numpy knows both, C would read elsewhere."""
    net, now = Net("linear", linear), Round(1, 0)
    part = examples(6, (FEATURES,), CLASSES)
    backwards = Part(part.pool, part.index - len(part.pool.labels))
    row, _ = PATHS[path](net).train(net.first(0), backwards, now, "a")
    np.testing.assert_allclose(row, plain_sgd(net, net.first(0), part, now, "a").row, rtol=0, atol=1e-6)
    renamed = Part(part.pool, part.index, relabel=np.arange(CLASSES, dtype=np.int32))
    with pytest.raises(RuntimeError, match="Long"):
        PATHS[path](net).train(net.first(0), renamed, now, "a")
    with pytest.raises(InputError, match=r"new labels have the wrong form.*got int32, need int64"):
        renamed.check("a test", CLASSES)
