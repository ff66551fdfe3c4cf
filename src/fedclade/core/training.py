"""How clients train: the optimiser of a step, the schedule of step sizes over rounds, and the settings beside them.

    [local]
    lr = 0.003
    optimizer = "adam"                      # or a table: {kind = "adam", betas = [0.9, 0.99]}
    schedule = {kind = "step", every = 20}

A setting that only one optimiser or schedule reads stands in its table; `momentum` and `weight_decay` may also stand
beside it, since every [local] of old has them there.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from fedclade.core.errors import InputError
from fedclade.core.settings import (
    build_settings,
    is_settings,
    names_of,
    nested_settings,
    settings,
    settings_table,
    unknown_name_error,
)

MIN_SCALE = 1e-12  # of a step size: after however many rounds it is over 0
MAX_CLASSES_WEIGHED = 10_000  # whose weights are sent to every client
Decay = Annotated[float, Field(ge=0)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]


@settings
class SGD:
    """Steps along the gradient, or with momentum."""

    kind: Literal["sgd"] = "sgd"
    """Its name, where it is written as a table."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Heavy ball; starts at zero in every round."""
    weight_decay: Decay = 0.0
    """Added to the gradient, times the weights."""


@settings
class Adam:
    """Steps scaled by moments of the gradient (Kingma and Ba, 2015); the moments start at zero in every round."""

    kind: Literal["adam"] = "adam"
    """Its name, where it is written as a table."""
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """What is left in a step of the mean of gradients, and of the mean of their squares."""
    eps: Annotated[float, Field(gt=0)] = 1e-8
    """Added to the root of the mean square, which divides the step."""
    weight_decay: Decay = 0.0
    """Added to the gradient, times the weights."""


@settings
class AdamW:
    """Adam with a decay of the weights that does not go through the moments (Loshchilov and Hutter, 2019)."""

    kind: Literal["adamw"] = "adamw"
    """Its name, where it is written as a table."""
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """As in Adam."""
    eps: Annotated[float, Field(gt=0)] = 1e-8
    """As in Adam."""
    weight_decay: Decay = 0.01
    """The share of the weights, times the step size, that is taken off in each step."""


Optimizer: TypeAlias = SGD | Adam | AdamW


@settings
class ConstantSchedule:
    """The same step size in all rounds."""

    kind: Literal["constant"] = "constant"
    """Its name, where it is written as a table."""

    def scale(self, number: int, rounds: int) -> float:  # noqa: ARG002  # as the others have it
        """What the step size of a round, 1 for the first, is multiplied by."""
        return 1.0


@settings
class CosineSchedule:
    """Half a wave down: slowly at first and at the end, as far as the last round of the run."""

    kind: Literal["cosine"] = "cosine"
    """Its name, where it is written as a table."""
    floor: Share = 0.0
    """Where it would arrive one round after the last, as a share of the step size."""

    def scale(self, number: int, rounds: int) -> float:
        """What the step size of a round, 1 for the first, is multiplied by."""
        gone = (max(number, 1) - 1) / max(rounds, 1)
        return max(self.floor + (1 - self.floor) * (1 + math.cos(math.pi * gone)) / 2, MIN_SCALE)


@settings
class StepSchedule:
    """Smaller by a factor after every so many rounds."""

    kind: Literal["step"] = "step"
    """Its name, where it is written as a table."""
    every: Annotated[int, Field(ge=1, le=10**9)] = 30
    """Rounds with the same step size."""
    factor: Annotated[float, Field(gt=0, le=1)] = 0.1
    """What the step size is then multiplied by."""
    floor: Share = 0.0
    """It does not fall below this share of the step size."""

    def scale(self, number: int, rounds: int) -> float:  # noqa: ARG002  # as the others have it
        """What the step size of a round, 1 for the first, is multiplied by."""
        return max(self.factor ** ((max(number, 1) - 1) // self.every), self.floor, MIN_SCALE)


Schedule: TypeAlias = ConstantSchedule | CosineSchedule | StepSchedule


def array_to_tuple(value: object) -> object:
    """The numbers of an array of numpy or torch; anything else as it is."""
    numbers = value.tolist() if hasattr(value, "tolist") else value
    return tuple(numbers) if isinstance(numbers, list) else numbers


ClassWeights: TypeAlias = Annotated[
    Literal["none", "balanced"]
    | Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1, max_length=MAX_CLASSES_WEIGHED)],
    BeforeValidator(array_to_tuple),
]


@settings
class LocalTraining:
    """How a client trains on its own data: steps on batches of examples."""

    epochs: Annotated[int, Field(ge=1, le=10**6)] = 1
    """Passes over the client's data in a round (E)."""
    steps: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Steps in a round instead, each on a batch; 0: whole epochs."""
    steps_from: Literal["draws", "epochs"] = "draws"
    """Where steps take batches from: draws, full batches that are drawn anew in every round; or epochs.

    An epoch is gone through once over several rounds: each goes on in its order where the last one stopped.
    """
    batch: Annotated[int, Field(ge=1, le=10**9)] = 10
    """Examples in a step; the last one of an epoch may be shorter (B)."""
    lr: Annotated[float, Field(gt=0)] = 0.01
    """Step size (eta); in a round, as its schedule has made it. Of a run also "auto", or a list of values to try."""
    optimizer: Annotated[Optimizer, nested_settings(SGD, Adam, AdamW)] = SGD()
    """What becomes of a gradient: `sgd`, `adam` or `adamw`. It starts anew in every round, at every client."""
    schedule: Annotated[Schedule, nested_settings(ConstantSchedule, CosineSchedule, StepSchedule)] = ConstantSchedule()
    """The step size over the rounds of a run: `constant`, `cosine` or `step`."""
    clip_norm: Annotated[float, Field(ge=0)] = 0.0
    """The norm to which the gradient of a step is shortened where it is longer; 0: never."""
    class_weights: ClassWeights = "none"
    """How much an example counts in the loss, by its class: all alike; `balanced`, each class of a client as much as
    its others; or a number for each class."""
    blind: bool = False
    """Models travel in an order that only clients know: see `fedclade.nets.blind`."""

    @model_validator(mode="after")
    def check_steps_or_epochs(self) -> Self:
        if self.steps and self.epochs != 1:
            raise InputError("steps stand in the place of epochs", where="local.epochs", got=str(self.epochs), need="1")
        if self.steps_from == "epochs" and not self.steps:
            raise InputError(
                'steps_from "epochs" needs a number of steps', where="local.steps", got="0", need="1 or more"
            )
        return self

    @property
    def sgd(self) -> SGD:
        """The settings of SGD, for code that knows no other optimiser."""
        assert isinstance(self.optimizer, SGD)  # the caller has made sure
        return self.optimizer


@settings
class BesideOptimizer:
    """Settings of the optimiser that may stand beside it, and then go before those in its table."""

    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Of the optimiser `sgd`: heavy ball; short for the same setting in its table."""
    weight_decay: Decay = 0.0
    """Of the optimiser: short for the same setting in its table, with the default of that."""


def local_training(table: Mapping[str, object], where: str) -> LocalTraining:
    """Local training from a table of TOML, or from flat settings; what stands beside the optimiser goes into it."""
    known = (*names_of(LocalTraining), *names_of(BesideOptimizer))
    for name in table:
        if name not in known:
            raise unknown_name_error(f"{where}.{name}", where, name, known)
    beside = {name: table[name] for name in names_of(BesideOptimizer) if name in table}
    rest = {name: value for name, value in table.items() if name not in beside}
    if beside:
        build_settings(BesideOptimizer, beside, where)  # an error in the place where it was written
        rest["optimizer"] = optimizer_table(rest.get("optimizer", "sgd")) | beside
    return build_settings(LocalTraining, rest, where)


def optimizer_table(value: object) -> dict[str, object]:
    """An optimiser, however it was given, as a table; what cannot be one keeps its place, to be refused there."""
    if isinstance(value, Mapping):
        return dict(value)
    return dict(settings_table(value)) if is_settings(type(value)) else {"kind": value}
