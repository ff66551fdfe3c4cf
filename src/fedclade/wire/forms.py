"""How an array of a message must look, and in what one differs from that."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

LONGEST_QUOTE = 60  # characters
LARGEST = 1e9  # of a weight, a point or a mean: what is trained or encoded is far below; squares must not overflow


@dataclass(frozen=True)
class Form:
    """How one array of a reply must look; None in the shape: any length up to `most`."""

    dtype: DTypeLike
    shape: tuple[int | None, ...]
    most: int = 0
    least_value: float = -np.inf
    most_value: float = np.inf

    @property
    def most_bytes(self) -> int:
        """The largest that it can be."""
        return (
            math.prod(self.most if length is None else length for length in self.shape) * np.dtype(self.dtype).itemsize
        )

    def fault(self, array: NDArray[np.generic]) -> str:
        """In what this array differs from the form; empty if in nothing."""
        if not isinstance(array, np.ndarray) or array.dtype != self.dtype:
            return f"got {getattr(array, 'dtype', type(array).__name__)}, need {np.dtype(self.dtype)}"
        if len(array.shape) != len(self.shape) or any(
            length != wanted if wanted is not None else length > self.most
            for length, wanted in zip(array.shape, self.shape, strict=True)
        ):
            need = str(self.shape) if None not in self.shape else f"{len(self.shape)} dimensions up to {self.most}"
            return f"got shape {array.shape}, need {need}"
        if array.size and self.least_value <= np.min(array) and np.max(array) <= self.most_value < np.inf:
            return ""  # NaN is in no range: two passes over a large model, and no third
        if not np.isfinite(array).all():
            return f"got {int((~np.isfinite(array)).sum())} of {array.size} values NaN or infinite, need finite"
        if array.size and self.least_value > -np.inf and (least := float(np.min(array))) < self.least_value:
            return f"got {least:g}, need at least {self.least_value:g}"
        if array.size and self.most_value < np.inf and (largest := float(np.max(array))) > self.most_value:
            return f"got {largest:g}, need at most {self.most_value:g}"
        return ""


def number(dtype: DTypeLike = np.float64, **bounds: float) -> Form:
    """The form of one number."""
    return Form(dtype, (), **bounds)  # type: ignore[arg-type]  # the bounds have names


def bounded(shape: tuple[int | None, ...], most: int = 0) -> Form:
    """The form of weights, points or means."""
    return Form(np.float32, shape, most, -LARGEST, LARGEST)


def quote(value: object) -> str:
    """What a client sent, short enough for a line of the log."""
    if type(value) not in (bool, int, float, str):
        return f"a {type(value).__name__}"
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python will print
        return "a huge number"
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "..."
