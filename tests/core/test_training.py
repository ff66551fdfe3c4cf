"""The settings of training: how they are written, what is refused, and the step sizes of a run."""

import math
from typing import Any

import pytest

from fedclade.core import InputError, LocalTraining
from fedclade.core.settings import settings_table
from fedclade.core.training import (
    SGD,
    Adam,
    AdamW,
    ConstantSchedule,
    CosineSchedule,
    Schedule,
    StepSchedule,
    local_training,
)


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ({}, SGD()),
        ({"momentum": 0.5}, SGD(momentum=0.5)),
        ({"optimizer": "sgd", "weight_decay": 1}, SGD(weight_decay=1.0)),
        ({"optimizer": {"momentum": 0.5}, "weight_decay": 0.1}, SGD(momentum=0.5, weight_decay=0.1)),
        ({"optimizer": {"kind": "sgd", "momentum": 0.5}, "momentum": 0.9}, SGD(momentum=0.9)),
        ({"optimizer": "adam"}, Adam()),
        ({"optimizer": "adam", "weight_decay": 0.1}, Adam(weight_decay=0.1)),
        ({"optimizer": {"kind": "adam", "betas": [0, 0.5]}}, Adam(betas=(0.0, 0.5))),
        ({"optimizer": Adam(eps=0.1), "weight_decay": 0.1}, Adam(eps=0.1, weight_decay=0.1)),
        ({"optimizer": "adamw"}, AdamW(weight_decay=0.01)),
    ],
)
def test_an_optimiser_is_written_in_several_ways(table: dict[str, Any], wanted: object) -> None:
    assert local_training(table, "local").optimizer == wanted


def test_a_table_and_back() -> None:
    how = LocalTraining(optimizer=Adam(betas=(0.5, 0.9)), schedule=StepSchedule(every=3), class_weights=(1.0, 2.0))
    assert local_training(settings_table(how), "local") == how


@pytest.mark.parametrize(
    ("table", "where", "said"),
    [
        ({"optimizer": "adan"}, "local.optimizer", 'need one of sgd, adam, adamw; do: did you mean "adam"'),
        ({"optimizer": 3}, "local.optimizer", "got 3"),
        ({"optimizer": "adam", "momentum": 0.9}, "local.optimizer", 'got "momentum", need one of kind, betas, eps'),
        ({"optimizer": {"betas": [0.9, 0.99]}}, "local.optimizer", "need one of kind, momentum, weight_decay"),
        ({"momentum": 1.0}, "local.momentum", "got 1.0, need less than 1"),
        ({"weight_decay": -0.1}, "local.weight_decay", "got -0.1"),
        ({"optimizer": {"kind": "adam", "betas": [0.9]}}, "local.optimizer.betas", "got (0.9,), need more values"),
        ({"optimizer": {"kind": "adam", "betas": [0.9, 1.0]}}, "local.optimizer.betas", "need less than 1"),
        ({"optimizer": {"kind": "adam", "eps": 0}}, "local.optimizer.eps", "need greater than 0"),
        ({"schedule": "linear"}, "local.schedule", "need one of constant, cosine, step"),
        ({"schedule": {"kind": "cosine", "every": 3}}, "local.schedule", "need one of kind, floor"),
        ({"schedule": {"kind": "step", "every": 0}}, "local.schedule.every", "got 0"),
        ({"schedule": {"kind": "step", "factor": 1.5}}, "local.schedule.factor", "got 1.5"),
        ({"schedule": {"kind": "cosine", "floor": -1}}, "local.schedule.floor", "got -1"),
        ({"clip_norm": -1}, "local.clip_norm", "got -1"),
        ({"class_weights": "even"}, "local.class_weights", "need 'none' or 'balanced' or a list"),
        (
            {"class_weights": [1, 0]},
            "local.class_weights",
            "need 'none' or 'balanced' or a list of what is greater than 0",
        ),
        ({"class_weights": []}, "local.class_weights", "got ()"),
        ({"clip": 1}, "local", 'did you mean "clip_norm"'),
        ({"momentun": 1}, "local", 'did you mean "momentum"'),
    ],
)
def test_mistakes_are_named_where_they_stand(table: dict[str, Any], where: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        local_training(table, "local")
    error = caught.value
    assert error.where == where
    assert said in str(error)


@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [
        (ConstantSchedule(), [1, 1, 1, 1, 1]),
        (CosineSchedule(), [1, 1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]),  # 0, 45, 90, 135 degrees
        (CosineSchedule(floor=0.5), [1, 1, (3 + math.sqrt(0.5)) / 4, 0.75, (3 - math.sqrt(0.5)) / 4]),
        (StepSchedule(every=2, factor=0.5), [1, 1, 1, 0.5, 0.5]),
        (StepSchedule(every=1, factor=0.1, floor=0.05), [1, 1, 0.1, 0.05, 0.05]),
    ],
)
def test_a_step_size_is_a_function_of_the_round(schedule: Schedule, wanted: list[float]) -> None:
    """Of four rounds, and of what happens before the first."""
    assert [schedule.scale(number, 4) for number in range(5)] == pytest.approx(wanted)


def test_a_step_size_is_never_zero() -> None:
    assert StepSchedule(every=1, factor=1e-9).scale(10**6, 10**6) > 0
    assert CosineSchedule().scale(10**9, 10**9) > 0
    assert LocalTraining(lr=1e-12 * StepSchedule(every=1).scale(999, 999)).lr > 0
