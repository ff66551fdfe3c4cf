"""The planner sees what a module is made of, and sends what it does not know to the general path."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from fedclade.client import Client, PathFacts, is_built, path_facts
from fedclade.client.plan import choose_path, path_name_for
from fedclade.client.stack import stack_of
from fedclade.core import InputError, LocalTraining, Round
from fedclade.core.task import Task
from fedclade.core.training import SGD, Adam, AdamW, CosineSchedule
from fedclade.nets import NETS, Net, net_for

STACKED = "kernel" if is_built() else "batched"
CONVOLVED = "convolution" if is_built() else "general"


class Doubled(nn.Sequential):
    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self[0](inputs)
        return 2 * outputs


def tied() -> nn.Module:
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer)


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 3))


def after(change: Callable[[Any], object], make: Callable[[], nn.Module] = small) -> Callable[[], nn.Module]:
    """A function that makes a module, and changes it in a way that its layers do not show."""

    def changed() -> nn.Module:
        module = make()
        change(module)
        return module

    return changed


def first_parameter(module: nn.Module) -> Any:
    return next(module.parameters())


def convolutional(*layers: nn.Module) -> nn.Sequential:
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(8, 3))


STACKS: dict[str, Callable[[], nn.Module]] = {
    "a layer": lambda: nn.Linear(4, 3),
    "nested": lambda: nn.Sequential(
        nn.Sequential(nn.Flatten()), nn.Sequential(nn.Linear(4, 5), nn.ReLU()), nn.Linear(5, 3)
    ),
    "no dropout": lambda: nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.0), nn.Identity(), nn.Linear(5, 3)),
}
OTHERS: dict[str, Callable[[], nn.Module]] = {
    "tanh": lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)),
    "a class of its own": lambda: Doubled(nn.Linear(4, 3)),
    "tied": tied,
    "tied with as many numbers": after(lambda it: it.register_parameter("extra", nn.Parameter(torch.zeros(20))), tied),
    "frozen": after(lambda it: it[0].requires_grad_(False)),
    "a hook": after(lambda it: it[0].register_forward_hook(lambda _, __, output: 2 * output)),
    "a hook on a gradient": after(lambda it: first_parameter(it).register_hook(lambda slope: 0 * slope)),
    "a hook behind a gradient": after(
        lambda it: first_parameter(it).register_post_accumulate_grad_hook(lambda _: None)
    ),
    "another forward": after(lambda it: setattr(it[1], "forward", torch.tanh)),
    "another forward of all": after(lambda it: setattr(it, "forward", lambda inputs: 2 * it[3](it[0](inputs)))),
    "always dropping": after(lambda it: setattr(it[2], "train", lambda _=True: it[2])),
    "another forward of a convolution": after(
        lambda it: setattr(it[0], "forward", lambda inputs: 2 * nn.Conv2d.forward(it[0], inputs)),
        lambda: convolutional(nn.Conv2d(1, 2, 3), nn.ReLU()),
    ),
    "parametrised": lambda: nn.Sequential(weight_norm(nn.Linear(4, 3))),
    "statistics": lambda: nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)),
    "ReLU at the end": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU()),
    "dropout at the end": lambda: nn.Sequential(nn.Linear(4, 3), nn.Dropout()),
    "all dropped": lambda: nn.Sequential(nn.Linear(4, 5), nn.Dropout(1.0), nn.Linear(5, 3)),
    "flattens otherwise": lambda: nn.Sequential(nn.Flatten(0), nn.Linear(4, 3)),
    "groups of channels": lambda: convolutional(nn.Conv2d(2, 2, 3, groups=2), nn.ReLU()),
    "other pooling": lambda: convolutional(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(3)),
    "no ReLU behind a convolution": lambda: convolutional(nn.Conv2d(1, 2, 3)),
}


@pytest.mark.parametrize("name", STACKS)
def test_linear_layers_are_a_stack(name: str) -> None:
    assert path_name_for(Net(name, STACKS[name])) == STACKED


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_is_not(name: str) -> None:
    assert path_name_for(Net(name, OTHERS[name])) == "general"


@pytest.mark.parametrize("name", NETS)
def test_our_nets_have_their_paths(name: str) -> None:
    wanted = {"mlp": STACKED, "logistic": STACKED, "lstm": "general"}
    net = net_for(name, (32,), 4) if name == "lstm" else net_for(name, (1, 28, 28), 10)
    assert path_name_for(net) == wanted.get(name, CONVOLVED)
    assert choose_path(net, "general").name == "general"


def test_a_stack_knows_where_its_numbers_stand() -> None:
    """By hand: 4 x 5 weights, 5 biases, then 5 x 3 weights and 3 biases."""
    stack = stack_of(Net("two", lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Dropout(0.25), nn.Linear(5, 3))))
    assert stack is not None
    first, second = stack.layers
    assert (first.weight, first.bias, first.relu, first.dropout) == (0, 20, True, 0)
    assert (second.weight, second.bias, second.relu, second.dropout) == (25, 40, False, 0.25)


def test_a_net_that_cannot_be_made_and_an_unknown_path_are_refused() -> None:
    with pytest.raises(InputError):
        path_name_for(net_for("lenet", (3,), 2))
    with pytest.raises(InputError, match=r'the path is not known, engine\.path: got "kernel"'):
        choose_path(net_for("mlp", (4,), 3), "kernel")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_a_layer_without_units_is_no_stack() -> None:
    assert path_name_for(Net("none", lambda: nn.Sequential(nn.Linear(4, 0), nn.ReLU(), nn.Linear(0, 3)))) == "general"


def test_a_hook_on_all_modules_is_seen() -> None:
    net = Net("small", small)
    handle = nn.modules.module.register_module_forward_hook(lambda _, __, output: output)
    try:
        assert path_name_for(net) == "general"
    finally:
        handle.remove()
    assert path_name_for(net) == STACKED


@pytest.mark.parametrize(
    ("local", "reason"),
    [
        (LocalTraining(), ""),
        (LocalTraining(optimizer=SGD(momentum=0.9, weight_decay=0.1), schedule=CosineSchedule()), ""),
        (LocalTraining(optimizer=Adam()), "optimizer adam"),
        (LocalTraining(optimizer=AdamW(), clip_norm=1.0), "optimizer adamw"),
        (LocalTraining(clip_norm=1.0), "clip_norm"),
        (LocalTraining(class_weights="balanced"), "class_weights"),
        (LocalTraining(class_weights=(1.0, 2.0, 3.0)), "class_weights"),
    ],
)
def test_what_a_faster_path_does_not_know_is_trained_on_the_general_one(local: LocalTraining, reason: str) -> None:
    net = net_for("mlp", (4,), 3)
    facts, client, now = path_facts(net, local), Client(net), Round(1, 0, local=local)
    assert facts == PathFacts("general" if reason else STACKED, reason)
    assert client.path_for(now).name == facts.name
    assert client.path.name == STACKED, "what is evaluated, or trained with other settings, is as fast as before"


def test_the_reason_is_the_first_that_holds() -> None:
    mlp, odd = net_for("mlp", (4,), 3), Net("odd", OTHERS["tanh"])
    adam = LocalTraining(optimizer=Adam())
    assert str(path_facts(mlp, adam, "general")) == 'general (engine.path "general")'
    assert str(path_facts(odd, LocalTraining())) == "general (layers of net odd)"
    assert str(path_facts(odd, adam)) == "general (optimizer adam)"
    number = net_for("mlp", (4,), 1, task=Task(kind="regression", labels="number"))
    assert str(path_facts(number, LocalTraining())) == "general (task regression)"
    assert str(path_facts(mlp, LocalTraining())) == STACKED


def test_without_a_kernel_it_is_said_of_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedclade.client.plan.library", lambda: None)
    assert str(path_facts(net_for("lenet", (1, 28, 28), 10), LocalTraining())) == "general (the kernel is not built)"
    assert str(path_facts(net_for("mlp", (4,), 3), LocalTraining())) == "batched"
