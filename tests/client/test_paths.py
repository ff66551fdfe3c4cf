"""Every path is plain sequential SGD on the same batches, to 1e-5 after an epoch, and to the bit in any company."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from client.plain import assert_agrees, examples, plain_sgd
from fedclade.client.batched import Batched
from fedclade.client.convolution import Convolution, convolutional_net_of
from fedclade.client.general import General, Training
from fedclade.client.kernel import Kernel, library
from fedclade.client.plan import TrainingPath, choose_path
from fedclade.client.stack import stack_of
from fedclade.core import InputError, LocalTraining, Round
from fedclade.core.task import Task
from fedclade.core.training import SGD
from fedclade.data import Part, Pool
from fedclade.nets import Net, net_for

FEATURES, CLASSES = 13, 5


def linear() -> nn.Module:
    return nn.Linear(FEATURES, CLASSES)


def without_bias() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 9, bias=False), nn.ReLU(), nn.Linear(9, CLASSES, bias=False))


def three_layers() -> nn.Module:
    return nn.Sequential(
        nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 33), nn.ReLU()),
        *(nn.Linear(33, 16), nn.ReLU(), nn.Linear(16, 7)),  # no ReLU behind it
        nn.Linear(7, CLASSES),
    )


def dropping() -> nn.Module:
    """Dropout of the inputs, behind ReLU, in front of it, and where there is none."""
    return nn.Sequential(
        *(nn.Dropout(0.1), nn.Linear(FEATURES, 12), nn.ReLU()),
        *(nn.Dropout(0.5), nn.Linear(12, 11), nn.Dropout(0.3), nn.ReLU()),
        *(nn.Linear(11, 8), nn.Dropout(0.2), nn.Linear(8, CLASSES)),
    )


def padded_oddly() -> nn.Module:
    """Odd sizes, a stride, no bias, pooling in front of ReLU, a convolution without pooling, dropout in the head."""
    return nn.Sequential(
        *(nn.Conv2d(2, 4, (3, 5), padding=(1, 0), bias=False), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(4, 5, 3, stride=2, padding=2), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(5 * 4 * 3, 12), nn.ReLU(), nn.Dropout(0.4), nn.Linear(12, CLASSES)),
    )


STACKS = {made.__name__: Net(made.__name__, made) for made in (linear, without_bias, three_layers, dropping)}
SHAPES = {
    **{"leaf_cnn": (1, 12, 12), "lenet": (1, 28, 28), "cfl_cnn": (3, 16, 16), "abc_cnn": (1, 13, 13)},
    "padded_oddly": (2, 13, 11),
}
CNNS = {name: net_for(name, shape, CLASSES) for name, shape in SHAPES.items() if name != "padded_oddly"}
CNNS["padded_oddly"] = Net("padded oddly", padded_oddly)
WAYS = {
    "plain": LocalTraining(batch=10, lr=0.1),
    "momentum": LocalTraining(batch=10, lr=0.05, optimizer=SGD(momentum=0.9)),
    "weight decay": LocalTraining(batch=10, lr=0.1, optimizer=SGD(weight_decay=0.1)),
    "everything": LocalTraining(batch=7, lr=0.05, epochs=3, optimizer=SGD(momentum=0.5, weight_decay=0.01)),
    "short last batch": LocalTraining(batch=4, lr=0.1),
    "one by one": LocalTraining(batch=1, lr=0.02),
    "batch over all": LocalTraining(batch=1000, lr=0.1, epochs=2),
    "a part of an epoch": LocalTraining(batch=4, lr=0.1, steps=2, steps_from="epochs"),
    "over the end of an epoch": LocalTraining(
        batch=5, lr=0.1, steps=4, steps_from="epochs", optimizer=SGD(momentum=0.5)
    ),
    "several epochs of short batches": LocalTraining(batch=22, lr=0.05, steps=5, steps_from="epochs"),
}


def batched(net: Net) -> Batched:
    stack = stack_of(net)
    assert stack is not None
    return Batched(stack, General(net))


def compiled(net: Net, *, fast: bool = True) -> TrainingPath:
    """The kernel's path for a stack, the convolution path for a convolutional net."""
    stack, form, functions = stack_of(net), convolutional_net_of(net), library("fast" if fast else "plain")
    if functions is None:
        pytest.skip("the kernel is not built here")
    if stack is not None:
        return Kernel(stack, functions, General(net))
    assert form is not None
    return Convolution(form, functions, General(net))


PATHS: dict[str, Callable[[Net], TrainingPath]] = {
    "kernel": compiled,
    "kernel without AVX": lambda net: compiled(net, fast=False),
    "batched": batched,
    "general": General,
}
CASES = [*((path, name) for path in PATHS for name in STACKS), *(("kernel", name) for name in CNNS)]
on_each_path = pytest.mark.parametrize("path", PATHS)
on_each_path_and_net = pytest.mark.parametrize(("path", "name"), CASES)


def case(path: str, name: str) -> tuple[TrainingPath, Net, tuple[int, ...]]:
    """A path for a net, the net, and the shape of its inputs."""
    net = {**STACKS, **CNNS}[name]
    return PATHS[path](net), net, SHAPES.get(name, (FEATURES,))


def way(name: str, net: str) -> LocalTraining:
    return replace(WAYS[name], lr=0.02) if net in CNNS else WAYS[name]


@on_each_path_and_net
@pytest.mark.parametrize("how", WAYS)
def test_a_net_is_trained_as_by_plain_sgd(path: str, name: str, how: str) -> None:
    trains, net, shape = case(path, name)
    now = Round(3, 11, local=way(how, name))
    assert_agrees(trains, net, Training(net.initial_row(1), examples(23, shape, CLASSES), now, "a"))


@pytest.mark.parametrize(("path", "name"), [case for case in CASES if case[1] in ("three_layers", *CNNS)])
@pytest.mark.parametrize("how", ["plain", "momentum", "weight decay", "everything"])
def test_fedprox_pulls_to_the_start_or_to_another_model(path: str, name: str, how: str) -> None:
    trains, net, shape = case(path, name)
    now = Round(3, 11, local=way(how, name), proximal=0.7)
    asked = Training(net.initial_row(1), examples(23, shape, CLASSES, as_bytes=name in CNNS), now, "a")
    elsewhere = replace(asked, towards=net.initial_row(8))
    assert_agrees(trains, net, asked)
    assert_agrees(trains, net, elsewhere)
    if isinstance(trains, Batched):  # side by side, each with its own
        for (row, _), each in zip(trains.train_all([elsewhere, asked]), (elsewhere, asked), strict=True):
            np.testing.assert_allclose(row, plain_sgd(net, each)[0], atol=1e-5)


@on_each_path
@pytest.mark.parametrize("name", ["mlp", "logistic"])
@pytest.mark.parametrize("count", [1, 9, 10, 11, 57])
def test_our_nets_on_images_kept_as_bytes(path: str, name: str, count: int) -> None:
    net = net_for(name, (1, 28, 28), 10)
    part, now = (
        examples(count, (1, 28, 28), 10, as_bytes=True),
        Round(1, 0, local=LocalTraining(optimizer=SGD(momentum=0.5))),
    )
    assert_agrees(PATHS[path](net), net, Training(net.initial_row(1), part, now, "a"))
    turned = replace(part, quarter_turns=1, relabel=np.arange(10)[::-1].copy())
    now = Round(1, 0, local=LocalTraining(batch=32))
    assert_agrees(PATHS[path](net), net, Training(net.initial_row(1), turned, now, "a"))


@on_each_path
def test_wide_layers_are_worked_on_in_pieces(path: str) -> None:
    net = Net("wide", lambda: nn.Sequential(nn.Linear(2500, 6), nn.ReLU(), nn.Linear(6, 1100), nn.Linear(1100, 3)))
    now = Round(1, 0, local=LocalTraining(lr=0.01, optimizer=SGD(momentum=0.5)))
    assert_agrees(PATHS[path](net), net, Training(net.initial_row(1), examples(13, (2500,), 3), now, "a"))


@on_each_path
@pytest.mark.parametrize("name", [*STACKS, "mlp"])
def test_scores_and_losses_are_those_of_the_module(path: str, name: str) -> None:
    net = net_for("mlp", (FEATURES,), CLASSES) if name == "mlp" else STACKS[name]
    part, rows = examples(130, (FEATURES,), CLASSES), np.stack([net.initial_row(number) for number in range(4)])
    labels = torch.from_numpy(part.labels)
    found = PATHS[path](net).losses(rows, part)
    for row, loss in zip(rows, found, strict=True):
        with torch.inference_mode():
            logits = net.module(row)(torch.from_numpy(part.inputs))
        assert loss == pytest.approx(nn.functional.cross_entropy(logits, labels).item(), abs=1e-6)
        found_too = PATHS[path](net).evaluate(row, part)
        assert found_too.score[0] == int((logits.argmax(dim=1) == labels).sum())
        assert found_too.loss == pytest.approx(loss, abs=1e-6)


@on_each_path_and_net
def test_a_clients_bits_are_its_own(path: str, name: str) -> None:
    """They depend neither on the client that was trained before, nor on where its numbers lie in memory."""
    used, net, shape = case(path, name)
    now = Round(1, 0, local=LocalTraining(batch=8, optimizer=SGD(momentum=0.5)))
    asked = Training(net.initial_row(0), examples(23, shape, CLASSES), now, "a")
    trained, loss = PATHS[path](net).train(asked)
    used.train(Training(net.initial_row(1), examples(31, shape, CLASSES, seed=1), now, "b"))
    for shift in (1, 2, 3, 5):
        moved = np.concatenate([np.zeros(shift, np.float32), asked.start])[shift:]
        assert not moved.flags.owndata
        again, same = used.train(replace(asked, start=moved))
        assert again.tobytes() == trained.tobytes()
        assert same == loss


def test_whoever_stands_beside_a_client_changes_no_bit_of_it() -> None:
    """One client alone, as Flower asks, or in any company, in any order: ragged sizes, other starts, other batches."""
    for shape, name, how in (
        ((1, 28, 28), "mlp", LocalTraining(batch=10)),
        ((FEATURES,), "mlp", LocalTraining(batch=8, epochs=2, optimizer=SGD(momentum=0.9))),
        ((FEATURES,), "logistic", LocalTraining(batch=8, optimizer=SGD(weight_decay=0.1))),
    ):
        net, now = net_for(name, shape, CLASSES), Round(1, 0, local=how, proximal=0.1)
        path = batched(net)
        asked = [
            Training(net.initial_row(number % 3), examples(count, shape, CLASSES, seed=number), now, f"client-{number}")
            for number, count in enumerate((23, 8, 40, 3, 16, 17, 1))
        ]
        alone = [path.train(each) for each in asked]
        for company in (list(range(7)), [6, 5, 4, 3, 2, 1, 0], [2, 0], [4, 5, 1]):
            for number, (row, loss) in zip(company, path.train_all([asked[number] for number in company]), strict=True):
                assert row.tobytes() == alone[number][0].tobytes(), (name, company, number)
                assert loss == alone[number][1]


@pytest.mark.slow
def test_nor_in_nets_of_any_form() -> None:
    """Products round by where their numbers lie, and by their form: layers of one unit, odd widths, short batches."""
    rng = np.random.default_rng(0)
    for turn in range(40):
        widths = rng.choice([1, 2, 3, 5, 8, 13, 17, 32, 64, 100, 200], size=int(rng.integers(2, 5))).tolist()
        net = Net("any", lambda widths=widths: nn.Sequential(*(nn.Linear(*each) for each in pairwise(widths))))  # type: ignore[misc]  # of this turn
        how = LocalTraining(batch=int(rng.choice([1, 2, 3, 7, 10, 33])), lr=0.01, optimizer=SGD(momentum=0.5), epochs=2)
        now, path = Round(1, turn, local=how), batched(net)
        counts = rng.choice([1, 2, 5, 10, 11, 23], size=5).tolist()
        parts = [examples(count, (widths[0],), widths[-1], seed=number) for number, count in enumerate(counts)]
        asked = [Training(net.initial_row(0), part, now, f"client-{number}") for number, part in enumerate(parts)]
        for each, (row, loss) in zip(asked, path.train_all(asked), strict=True):
            alone, same = path.train(each)
            assert row.tobytes() == alone.tobytes(), (widths, how.batch)
            assert loss == same


@pytest.mark.parametrize(("path", "name"), [case for case in CASES if case[1] in ("linear", "abc_cnn")])
def test_what_does_not_fit_is_refused_as_on_the_general_path(path: str, name: str) -> None:
    chosen, net, shape = case(path, name)
    good = Training(net.initial_row(0), examples(6, shape, CLASSES), Round(1, 0), "a")
    too_many = Part(Pool(good.part.pool.inputs, good.part.pool.labels + CLASSES), good.part.index)
    with pytest.raises(InputError, match="a row does not fit"):
        chosen.train(replace(good, start=good.start[1:]))
    with pytest.raises(InputError, match="a row does not fit"):
        chosen.evaluate(good.start[1:], good.part)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        chosen.train(replace(good, part=examples(6, (*shape[:-1], 40 + shape[-1]), CLASSES)))
    with pytest.raises(IndexError, match="out of bounds"):
        chosen.train(replace(good, part=too_many))
    with pytest.raises(IndexError, match="out of bounds"):
        chosen.losses(good.start[None], too_many)


@on_each_path
def test_inputs_that_are_not_flat_keep_their_shape_without_flatten(path: str) -> None:
    """nn.Linear works on the last axis: 3 x 13 inputs are not 39 features, and this module wants 13."""
    net = STACKS["linear"]
    with pytest.raises((RuntimeError, ValueError)):
        PATHS[path](net).train(Training(net.initial_row(0), examples(6, (3, FEATURES), CLASSES), Round(1, 0), "a"))


@on_each_path
def test_a_model_that_diverges_is_not_finite(path: str) -> None:
    net = net_for("mlp", (FEATURES,), CLASSES)
    inputs: NDArray[np.float32] = np.full((20, FEATURES), 1e30, np.float32)
    part, now = Part(Pool(inputs, np.arange(20) % CLASSES), np.arange(20)), Round(1, 0, local=LocalTraining(lr=1e9))
    row, loss = PATHS[path](net).train(Training(net.initial_row(0), part, now, "a"))
    assert not np.isfinite(row).all()
    assert not np.isfinite(loss)


@pytest.mark.parametrize("name", ["leaf_cnn", "abc_cnn"])
def test_nan_goes_through_a_convolutional_net(name: str) -> None:
    """A model that is broken stays broken: pooling and ReLU must not hide it."""
    asked = Training(CNNS[name].initial_row(0), examples(6, SHAPES[name], CLASSES), Round(1, 0), "a")
    asked.start[0] = np.nan
    row, loss = compiled(CNNS[name]).train(asked)
    wanted, wanted_loss = plain_sgd(CNNS[name], asked)
    assert np.isnan([loss, wanted_loss]).all()
    np.testing.assert_array_equal(np.isnan(row), np.isnan(wanted))


@pytest.mark.slow
def test_a_net_that_reads_words_is_trained_as_by_plain_sgd() -> None:
    """The LSTM takes the general path, as everything that the planner does not know."""
    net = net_for("lstm", (7,), CLASSES)
    words = np.random.default_rng(0).integers(1, 90, size=(23, 7), dtype=np.int32)
    part = Part(Pool(words, np.arange(23) % CLASSES), np.arange(23))
    for how in ("plain", "everything"):
        now = Round(3, 11, local=replace(WAYS[how], lr=0.5))
        assert_agrees(choose_path(net), net, Training(net.initial_row(1), part, now, "a"))
    assert choose_path(net).name == "general"


@on_each_path
def test_what_the_kernel_must_not_read_is_sent_to_torch(path: str) -> None:
    """Positions from the end, and labels of another type: numpy knows both, C would read elsewhere."""
    net, part = STACKS["linear"], examples(6, (FEATURES,), CLASSES)
    good = Training(net.initial_row(0), part, Round(1, 0), "a")
    backwards = Part(part.pool, part.index - len(part.pool.labels))
    row, _ = PATHS[path](net).train(replace(good, part=backwards))
    np.testing.assert_allclose(row, plain_sgd(net, good)[0], rtol=0, atol=1e-6)
    renamed = Part(part.pool, part.index, relabel=np.arange(CLASSES, dtype=np.int32))
    with pytest.raises(RuntimeError, match="Long"):
        PATHS[path](net).train(replace(good, part=renamed))
    with pytest.raises(InputError, match=r"new labels have the wrong form.*got int32, need int64"):
        renamed.check("a test", Task(count=CLASSES))
