"""The nets that fedclade knows, by name."""

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from torch import nn

from fedclade.core import InputError
from fedclade.core.registry import Registry, check_class
from fedclade.core.settings import build_settings
from fedclade.core.task import Task
from fedclade.nets.leaf_cnn import LeafCNN
from fedclade.nets.lenet import LeNet
from fedclade.nets.logistic import Logistic
from fedclade.nets.losses import outputs_of
from fedclade.nets.lstm import LSTM
from fedclade.nets.mlp import MLP
from fedclade.nets.net import Net
from fedclade.nets.own_task import OwnTask


class Architecture(Protocol):
    """Frozen settings, and a function that makes the module for inputs of a shape and so many classes."""

    def build(self, inputs: tuple[int, ...], classes: int) -> nn.Module: ...


def accept(found: object) -> type[Architecture]:
    check_class(found, "build")
    return cast("type[Architecture]", found)


NETS: Registry[type[Architecture]] = Registry(
    "net",
    {"mlp": MLP, "lenet": LeNet, "logistic": Logistic, "leaf_cnn": LeafCNN, "lstm": LSTM},
    accept=accept,
    need="a class of @settings, all with defaults, with build(inputs, classes)",
    reserved=("python",),  # a net that was given in Python
)


def architecture_named(name: str) -> type[Architecture]:
    return NETS.find(name, "net.name")


def net_for(
    net: str | Callable[[], nn.Module],
    inputs: tuple[int, ...],
    classes: int,
    settings: Mapping[str, object] | None = None,
    *,
    task: Task | None = None,
    own_task: OwnTask | None = None,
) -> Net:
    """The net of a name with its settings, or of a user's own function that makes a module.

    It learns to tell so many classes apart, unless a task says otherwise.
    """
    wanted = task or Task(count=classes)
    if not isinstance(net, str):
        if isinstance(net, nn.Module) or not callable(net) or settings:
            got = "settings for an own function" if settings else type(net).__name__
            need = "a name with settings, or a function without arguments that returns a new torch.nn.Module"
            raise InputError("the net is not usable", where="net", got=got, need=need)
        return Net(getattr(net, "__name__", type(net).__name__), net, wanted=wanted, own_task=own_task)
    architecture = build_settings(architecture_named(net), settings or {}, where="net")
    return net_of(net, architecture, inputs, outputs_of(wanted, inputs, own_task), task=wanted, own_task=own_task)


def net_of(
    name: str,
    architecture: Architecture,
    inputs: tuple[int, ...],
    outputs: int,
    *,
    task: Task | None = None,
    own_task: OwnTask | None = None,
) -> Net:
    """The net of an architecture that gives so many numbers for an input: one for each class, without a task."""
    wanted = task or Task(count=outputs)
    return Net(name, lambda: architecture.build(inputs, outputs), is_custom=False, wanted=wanted, own_task=own_task)
