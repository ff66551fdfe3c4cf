"""The theorems of FLT's paper as functions, each with its assumptions; and the cost of a run by its table 6."""

import math

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError


def clustering_error(counts: NDArray[np.int64], encoder_error: float, latent: int) -> float:
    """Theorem 1: an upper bound on the error of the clustering, cut at 1.

    The sum over clients, over the labels that each has, and over the latent dimensions of exp(-(n Q^-1(p))^2 / 2), with
    n examples (clients, labels) and p the encoder's classification error. Assumes that the encodings of each label are
    Gaussian, that an error of one dimension is an error, that errors are independent, and that p is below 1/2. (The
    paper sums over labels that a client does not have too, each of which would make the bound exceed 1.)
    """
    if not 0 < encoder_error < 0.5:
        raise InputError(
            "the encoder's error is not usable", where="Theorem 1", got=str(encoder_error), need="over 0, under 0.5"
        )
    from scipy.special import ndtri

    check_positive("the number of latent dimensions", "Theorem 1", latent)
    margin = -float(ndtri(encoder_error))  # Q^-1(p): what a standard Gaussian exceeds with probability p
    held = counts[counts > 0].astype(np.float64)
    return min(float(latent * np.exp(-((held * margin) ** 2) / 2).sum()), 1.0)


def largest_step(smoothness: float, mixing: NDArray[np.float64]) -> float:
    """Equation 29: steps below this make Theorem 2's bound finite, for L-smooth losses and this row-normalised A.

    Assumes full gradients, one local step a round, and all clients in every round. |I - A| is the spectral norm.
    """
    check_positive("the smoothness", "equation 29", smoothness)
    return 2 / (smoothness * (1 + math.sqrt(1 + 4 * distance_from_identity(mixing) ** 2)))


def optimality_gap(
    first: float, last: float, rounds: int, step: float, smoothness: float, mixing: NDArray[np.float64]
) -> float:
    """Theorem 2: a bound on the mean squared change of the models in a round, from the first and the last total loss.

    Infinite for steps that are not below `largest_step`. Assumes what that assumes, and losses bounded from below.
    """
    for name, value in (("the number of rounds", rounds), ("the step", step), ("the smoothness", smoothness)):
        check_positive(name, "Theorem 2", value)
    squared = distance_from_identity(mixing) ** 2
    factor = 1 / (2 * step) - smoothness / 2 - step / 2 * smoothness**2 * squared
    return (first - last) / (rounds * len(mixing) * factor) if factor > 0 else math.inf


def check_positive(name: str, where: str, value: float) -> None:
    """Raise an error unless this is a finite number over 0."""
    if not (value > 0 and math.isfinite(value)):
        raise InputError(f"{name} is not usable", where=where, got=str(value), need="a number over 0")


def distance_from_identity(mixing: NDArray[np.float64]) -> float:
    """The spectral norm of I - A, for an A whose rows add to 1."""
    if mixing.ndim != 2 or mixing.shape[0] != mixing.shape[1] or not np.allclose(mixing.sum(axis=1), 1):
        raise InputError("A is not row-normalised", got=str(mixing.shape), need="a square matrix whose rows add to 1")
    return float(np.linalg.norm(np.eye(len(mixing)) - mixing, 2))


def communication(
    *, clients: int, participants: int, rounds: int, model: int, encoder: int = 0, sketch: int = 0
) -> int:
    """Table 6: the numbers that cross the wire, M W_enc + M k e once, and 2 rho M W_local in every round.

    `participants` is rho M, `sketch` the numbers that a client sends once: k e, or labels x (features + 1) for class
    moments, whose basis every client has. Counts, losses and tokens are not included: see the ledger.
    """
    return clients * (encoder + sketch) + 2 * participants * model * rounds
