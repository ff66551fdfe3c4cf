"""How an array of a message must look, and how one differs from that."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

MAX_QUOTE_LENGTH = 60  # characters
MAX_MAGNITUDE = 1e9  # of a weight, a point or a mean: real ones are far below, and squares must not overflow


@dataclass(frozen=True)
class Form:
    """How one array of a reply must look; None in the shape: any length up to `max_length`."""

    dtype: DTypeLike
    shape: tuple[int | None, ...]
    max_length: int = 0
    min_value: float = -np.inf
    max_value: float = np.inf

    @property
    def max_bytes(self) -> int:
        """The largest that it can be."""
        lengths = (self.max_length if length is None else length for length in self.shape)
        return math.prod(lengths) * np.dtype(self.dtype).itemsize

    def fault(self, array: NDArray[np.generic]) -> str:
        """How this array differs from the form; empty if it does not."""
        if not isinstance(array, np.ndarray) or array.dtype != self.dtype:
            return f"got {getattr(array, 'dtype', type(array).__name__)}, need {np.dtype(self.dtype)}"
        if len(array.shape) != len(self.shape) or any(
            length != wanted if wanted is not None else length > self.max_length
            for length, wanted in zip(array.shape, self.shape, strict=True)
        ):
            free = f"{len(self.shape)} dimensions up to {self.max_length}"
            return f"got shape {array.shape}, need {free if None in self.shape else self.shape}"
        if array.size and self.min_value <= np.min(array) and np.max(array) <= self.max_value < np.inf:
            return ""  # NaN is in no range: two passes over a large model, and no third
        if not np.isfinite(array).all():
            return f"got {int((~np.isfinite(array)).sum())} of {array.size} values NaN or infinite, need finite"
        if array.size and self.min_value > -np.inf and (least := float(np.min(array))) < self.min_value:
            return f"got {least:g}, need at least {self.min_value:g}"
        if array.size and self.max_value < np.inf and (largest := float(np.max(array))) > self.max_value:
            return f"got {largest:g}, need at most {self.max_value:g}"
        return ""


def has_overflow(array: object) -> bool:
    """Whether a number in it is not finite, or larger than any weight may be."""
    if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, np.floating):
        return False
    largest = float(np.max(np.abs(array), initial=0))
    return not largest <= MAX_MAGNITUDE  # NaN is in no range


def number_form(dtype: DTypeLike = np.float64, **bounds: float) -> Form:
    return Form(dtype, (), **bounds)  # type: ignore[arg-type]  # the bounds have names


def bounded_form(shape: tuple[int | None, ...], max_length: int = 0) -> Form:
    """The form of weights, points or means."""
    return Form(np.float32, shape, max_length, -MAX_MAGNITUDE, MAX_MAGNITUDE)


def quote(value: object) -> str:
    """What a client sent, short enough for a line of the log."""
    if type(value) not in (bool, int, float, str):
        return f"a {type(value).__name__}"
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python will print
        return "a huge number"
    return text if len(text) <= MAX_QUOTE_LENGTH else text[:MAX_QUOTE_LENGTH] + "..."
