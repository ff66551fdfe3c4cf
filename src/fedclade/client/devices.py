"""Where the general path computes: on the processor, or on a graphics card.

Workers are forked, and a process that has opened a card cannot share it with those that it forks: nothing here opens
one, and a client opens it at its first step.
"""

import os
from typing import Literal, TypeAlias

import torch

from fedclade.core import InputError

DeviceChoice: TypeAlias = Literal["cpu", "cuda", "auto"]
"""What `engine.device` may say."""
Device: TypeAlias = Literal["cpu", "cuda"]
CHECK_BY_DRIVER = "PYTORCH_NVML_BASED_CUDA_CHECK"  # torch then looks for cards without opening one


def device_of(choice: DeviceChoice) -> Device:
    """The device of this choice; an error where it asks for a card and torch sees none."""
    if choice == "cpu":
        return "cpu"
    if has_card():
        return "cuda"
    if choice == "auto":
        return "cpu"
    need = f"a card that torch {torch.__version__} can use: with its driver, and a build of torch for CUDA"
    do = 'engine.device = "cpu", or "auto"'
    raise InputError("there is no graphics card to train on", where="engine.device", got='"cuda"', need=need, do=do)


def has_card() -> bool:
    """Whether torch can use a graphics card."""
    before = os.environ.get(CHECK_BY_DRIVER)
    os.environ[CHECK_BY_DRIVER] = "1"
    try:
        return torch.cuda.is_available()
    finally:
        if before is None:
            del os.environ[CHECK_BY_DRIVER]
        else:
            os.environ[CHECK_BY_DRIVER] = before
