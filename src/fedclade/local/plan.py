"""The planner: how a net is trained on this machine, from what its module is made of.

    kernel        linear layers, ReLU, dropout (MLPs, logistic regression), where the compiled kernel is there
    batched       the same where it is not: several clients at once, as batched products of torch
    convolution   convolutions, ReLU and pooling in front of such layers, with the kernel: a step written by hand
    general       anything else: torch's autograd

All of them do plain SGD on the same batches with the same dropped units, and agree to rounding. A client's result does
not depend on who else is trained, so none of them depends on the number of workers.
"""

from collections.abc import Sequence
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Part
from fedclade.local.batched import Batched
from fedclade.local.convolution import Convolution, convolutional
from fedclade.local.general import Asked, General, PathName, Training
from fedclade.local.kernel import Kernel, library
from fedclade.local.stack import stack_of
from fedclade.nets import Net
from fedclade.nouns import ClientId, Round, Row, Rows
from fedclade.nouns.settings import unknown


class Path(Protocol):
    """One way to train and to score a net."""

    @property
    def name(self) -> PathName: ...

    @property
    def together(self) -> int:
        """How many clients it trains best at once."""
        ...

    def train(
        self, start: Row, part: Part, now: Round, client: ClientId, towards: Row | None = None
    ) -> tuple[Row, float]:
        """The model after E epochs from `start`, and the mean loss of the last epoch; see `Training.towards`."""
        ...

    def train_all(self, asked: Sequence[Training]) -> list[tuple[Row, float]]:
        """The same for several clients, in their order."""
        ...

    def score(self, row: Row, part: Part) -> tuple[int, float]:
        """How many examples the model gets right, and its mean loss."""
        ...

    def losses(self, rows: Rows, part: Part) -> NDArray[np.float64]:
        """The mean loss of each model, (models,)."""
        ...


def plan(net: Net, path: Asked = "auto") -> Path:
    """The fastest path that this net can take here, or the general one if that is asked for."""
    if path not in get_args(Asked):
        raise unknown("the path", "engine.path", path, get_args(Asked))
    general = General(net)
    if path == "general" or net.aim == "inputs":  # the others know the cross-entropy only
        return general
    stack, functions = stack_of(net), library()
    if stack is not None:
        return Batched(stack, general) if functions is None else Kernel(stack, functions, general)
    form = convolutional(net)
    if form is not None and functions is not None:
        return Convolution(form, functions, general)
    return general


def path_for(net: Net, path: Asked = "auto") -> PathName:
    """The name of the path that this net takes here."""
    return plan(net, path).name
