"""The planner: how a net is trained on this machine, from what its module is made of.

    kernel        linear layers, ReLU, dropout (MLPs, logistic regression), where the compiled kernel is there
    batched       the same where it is not: several clients at once, as batched products of torch
    convolution   convolutions, ReLU and pooling in front of such layers, with the kernel: a step written by hand
    general       anything else: torch's autograd

All of them do SGD on the same batches with the same dropped units, and agree to rounding; another optimiser, clipping
and class weights are known to the general path alone. A client's result does not depend on which other clients are
trained, so none of them depends on the number of workers.
"""

from dataclasses import dataclass
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from fedclade.client.batched import Batched
from fedclade.client.convolution import Convolution, convolutional_net_of
from fedclade.client.devices import DeviceChoice, device_of
from fedclade.client.general import General, PathChoice, PathName, RowAndLoss, Training
from fedclade.client.kernel import Kernel, library
from fedclade.client.stack import stack_of
from fedclade.core import LocalTraining, Row, Rows
from fedclade.core.evaluation import Evaluation
from fedclade.core.settings import unknown_name_error
from fedclade.data import Part
from fedclade.nets import Net


class TrainingPath(Protocol):
    """One way to train and to evaluate a net."""

    @property
    def name(self) -> PathName: ...

    @property
    def clients_at_once(self) -> int:
        """How many clients are best trained at once: more than 1 on the batched path alone."""
        ...

    def train(self, asked: Training) -> RowAndLoss: ...

    def evaluate(self, row: Row, part: Part) -> Evaluation: ...

    def losses(self, rows: Rows, part: Part) -> NDArray[np.float64]:
        """The mean loss of each model, (models,)."""
        ...


@dataclass(frozen=True)
class PathFacts:
    """Which path clients take, and why: for the facts of a run."""

    name: str
    reason: str = ""
    """Why not a faster one; empty where there is none."""
    device: str = "cpu"

    def __str__(self) -> str:
        """`kernel`; `general (optimizer adam)`; `general (the net, on cuda)`."""
        device = "" if self.device in ("cpu", "") else f"on {self.device}"
        why = ", ".join(filter(None, (self.reason, device)))
        return f"{self.name} ({why})" if why else self.name


def choose_path(net: Net, path: PathChoice = "auto", device: DeviceChoice = "cpu") -> TrainingPath:
    """The fastest path that this net can take here, or the general one if that is asked for."""
    if path not in get_args(PathChoice):
        raise unknown_name_error("the path", "engine.path", path, get_args(PathChoice))
    found = None if engine_needs_general(path, device) else fast_path(net)
    return found or General(net, device_of(device))


def fast_path(net: Net) -> TrainingPath | None:
    """The fastest of the other paths that this net can take here, if any."""
    if not net.task.is_classification:  # they know the cross-entropy only
        return None
    stack, functions = stack_of(net), library()
    if stack is not None:
        return Batched(stack, General(net)) if functions is None else Kernel(stack, functions, General(net))
    form = convolutional_net_of(net)
    return None if form is None or functions is None else Convolution(form, functions, General(net))


def engine_needs_general(path: PathChoice, device: DeviceChoice) -> str:
    """Which setting of the engine asks for the general path; empty: none does."""
    if path == "general":
        return 'engine.path "general"'
    return 'engine.device "cuda"' if device == "cuda" else ""


def training_needs_general(local: LocalTraining) -> str:
    """Which setting of training the faster paths do not know; empty: they know all, which is SGD as it is."""
    if local.optimizer.kind != "sgd":
        return f"optimizer {local.optimizer.kind}"
    if local.clip_norm:
        return "clip_norm"
    return "class_weights" if local.class_weights != "none" else ""


def path_facts(net: Net, local: LocalTraining, path: PathChoice = "auto", device: DeviceChoice = "cpu") -> PathFacts:
    """How clients train a net with these settings."""
    reason = engine_needs_general(path, device) or training_needs_general(local)
    found = None if reason else fast_path(net)
    if found is not None:
        return PathFacts(found.name)
    return PathFacts("general", reason or net_needs_general(net), device_of(device))


def net_needs_general(net: Net) -> str:
    """What of a net the faster paths do not know."""
    if not net.task.is_classification:
        return f"task {net.task.kind}"
    no_kernel = library() is None and convolutional_net_of(net) is not None
    return "the kernel is not built" if no_kernel else f"layers of net {net.name}"


def path_name_for(net: Net, path: PathChoice = "auto") -> PathName:
    return choose_path(net, path).name
