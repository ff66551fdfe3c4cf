"""The planner sees what a module is made of, and sends what it does not know to the general path."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from fedclade.local import is_built
from fedclade.local.plan import path_for, plan
from fedclade.local.stack import stack_of
from fedclade.nets import NETS, Net, net_for
from fedclade.nouns import InputError

STACKED = "kernel" if is_built() else "batched"
CONVOLVED = "convolution" if is_built() else "general"


class Doubled(nn.Sequential):
    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self[0](inputs)
        return 2 * outputs


def tied() -> nn.Module:
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer)


def frozen() -> nn.Module:
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
    module[0].requires_grad_(False)
    return module


def hooked() -> nn.Module:
    module = nn.Sequential(nn.Linear(4, 3))
    module[0].register_forward_hook(lambda _, __, output: 2 * output)
    return module


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 3))


def replaced(name: str, owner: nn.Module, module: nn.Module, by: Callable[..., object]) -> nn.Module:
    """The module after a function of one of its parts was replaced on the instance."""
    setattr(owner, name, by)
    return module


def with_another_forward() -> nn.Module:
    module = small()
    return replaced("forward", module[1], module, torch.tanh)


def with_another_forward_of_all() -> nn.Module:
    module = small()
    return replaced("forward", module, module, lambda inputs: 2 * module[3](module[0](inputs)))


def always_dropping() -> nn.Module:
    module = small()
    return replaced("train", module[2], module, lambda _=True: module[2])


def with_a_hook_on_a_gradient() -> nn.Module:
    module = small()
    next(module.parameters()).register_hook(lambda slope: 0 * slope)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return module


def with_a_hook_behind_a_gradient() -> nn.Module:
    module = small()
    next(module.parameters()).register_post_accumulate_grad_hook(lambda _: None)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return module


def tied_with_as_many_numbers() -> nn.Module:
    module = tied()
    module.register_parameter("unused", nn.Parameter(torch.zeros(20)))
    return module


def convolution_with_another_forward() -> nn.Module:
    layer = nn.Conv2d(1, 2, 3)
    module = nn.Sequential(layer, nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    return replaced("forward", layer, module, lambda inputs: 2 * nn.Conv2d.forward(layer, inputs))


PRETENDERS = (
    with_another_forward,
    with_another_forward_of_all,
    always_dropping,
    with_a_hook_on_a_gradient,
    with_a_hook_behind_a_gradient,
    tied_with_as_many_numbers,
    convolution_with_another_forward,
)
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
    "frozen": frozen,
    "hooked": hooked,
    "parametrised": lambda: nn.Sequential(weight_norm(nn.Linear(4, 3))),
    "statistics": lambda: nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)),
    "ReLU at the end": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU()),
    "dropout at the end": lambda: nn.Sequential(nn.Linear(4, 3), nn.Dropout()),
    "all dropped": lambda: nn.Sequential(nn.Linear(4, 5), nn.Dropout(1.0), nn.Linear(5, 3)),
    "flattens otherwise": lambda: nn.Sequential(nn.Flatten(0), nn.Linear(4, 3)),
    "groups of channels": lambda: nn.Sequential(nn.Conv2d(2, 2, 3, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)),
    "other pooling": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(3), nn.Flatten(), nn.Linear(8, 3)
    ),
    **{made.__name__: made for made in PRETENDERS},
    "no ReLU behind a convolution": lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3)),
}


@pytest.mark.parametrize("name", STACKS)
def test_linear_layers_are_a_stack(name: str) -> None:
    assert path_for(Net(name, STACKS[name])) == STACKED


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_is_not(name: str) -> None:
    assert path_for(Net(name, OTHERS[name])) == "general"


@pytest.mark.parametrize("name", NETS)
def test_our_nets_have_their_paths(name: str) -> None:
    wanted = {"mlp": STACKED, "logistic": STACKED, "lstm": "general"}
    net = net_for(name, (32,), 4) if name == "lstm" else net_for(name, (1, 28, 28), 10)
    assert path_for(net) == wanted.get(name, CONVOLVED)
    assert plan(net, "general").name == "general"


def test_a_stack_knows_where_its_numbers_stand() -> None:
    """By hand: 4 x 5 weights, 5 biases, then 5 x 3 weights and 3 biases."""
    stack = stack_of(Net("two", lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Dropout(0.25), nn.Linear(5, 3))))
    assert stack is not None
    first, second = stack.layers
    assert (first.weight, first.bias, first.relu, first.dropout) == (0, 20, True, 0)
    assert (second.weight, second.bias, second.relu, second.dropout) == (25, 40, False, 0.25)


def test_a_net_that_cannot_be_made_says_so() -> None:
    with pytest.raises(InputError):
        path_for(net_for("lenet", (3,), 2))


def test_a_path_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match=r'the path is not known, engine\.path: got "kernel"'):
        plan(net_for("mlp", (4,), 3), "kernel")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_a_layer_without_units_is_no_stack() -> None:
    assert path_for(Net("none", lambda: nn.Sequential(nn.Linear(4, 0), nn.ReLU(), nn.Linear(0, 3)))) == "general"


def test_a_hook_on_all_modules_is_seen() -> None:
    net = Net("small", small)
    handle = nn.modules.module.register_module_forward_hook(lambda _, __, output: output)
    try:
        assert path_for(net) == "general"
    finally:
        handle.remove()
    assert path_for(net) == STACKED
