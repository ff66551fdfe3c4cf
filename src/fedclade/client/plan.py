"""The planner: how a net is trained on this machine, from what its module is made of.

    kernel        linear layers, ReLU, dropout (MLPs, logistic regression), where the compiled kernel is there
    batched       the same where it is not: several clients at once, as batched products of torch
    convolution   convolutions, ReLU and pooling in front of such layers, with the kernel: a step written by hand
    general       anything else: torch's autograd

All of them do plain SGD on the same batches with the same dropped units, and agree to rounding. A client's result does
not depend on which other clients are trained, so none of them depends on the number of workers.
"""

from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from fedclade.client.batched import Batched
from fedclade.client.convolution import Convolution, convolutional_net_of
from fedclade.client.general import General, PathChoice, PathName, RowAndLoss, Training
from fedclade.client.kernel import Kernel, library
from fedclade.client.stack import stack_of
from fedclade.core import Row, Rows
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


def choose_path(net: Net, path: PathChoice = "auto") -> TrainingPath:
    """The fastest path that this net can take here, or the general one if that is asked for."""
    if path not in get_args(PathChoice):
        raise unknown_name_error("the path", "engine.path", path, get_args(PathChoice))
    general = General(net)
    if path == "general" or not net.task.is_classification:  # the others know the cross-entropy only
        return general
    stack, functions = stack_of(net), library()
    if stack is not None:
        return Batched(stack, general) if functions is None else Kernel(stack, functions, general)
    form = convolutional_net_of(net)
    return general if form is None or functions is None else Convolution(form, functions, general)


def path_name_for(net: Net, path: PathChoice = "auto") -> PathName:
    return choose_path(net, path).name
