"""The theorems of FLT's paper as functions: as printed, where they fail, and repaired; and the cost by its table 6.

Theorem 1 is no bound as printed: the mean of n encodings spreads 1 / sqrt(n) as much as one, not 1 / n, so the exponent
must have n, not n squared (`repaired_clustering_error`).

Theorem 2 is no bound for every graph: a star breaks it. Its proof takes the gradient's part across groups for a change
of the gradient (between equations 26 and 27). On a graph the iteration tends to the optimum of clients weighed by their
links, where the total loss can be larger than at the start: then the printed bound is negative. Where A is a
projection, a weighted mean in each group, a tighter bound holds for all steps below 2 / L (`repaired_optimality_gap`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError


def clustering_error(counts: NDArray[np.int64], encoder_error: float, latent: int) -> float:
    """Theorem 1 as printed, cut at 1: not a bound (see above).

    The sum over clients, over the labels that each has, and over the latent dimensions of exp(-(n Q^-1(p))^2 / 2), with
    n examples (clients, labels) and p the encoder's classification error. Assumes that the encodings of each label are
    Gaussian, that an error of one dimension is an error, that errors are independent, and that p is below 1/2. (The
    paper sums over labels that a client does not have too, each of which would make the sum exceed 1.)
    """
    held = counts[counts > 0].astype(np.float64)
    return sum_of_tails(held, encoder_error, latent)


def repaired_clustering_error(counts: NDArray[np.int64], encoder_error: float, latent: int) -> float:
    """Theorem 1 with sqrt(n) in the place of n: an upper bound on the error, under the same assumptions."""
    held = np.sqrt(counts[counts > 0].astype(np.float64))
    return sum_of_tails(held, encoder_error, latent)


def sum_of_tails(scale: NDArray[np.float64], encoder_error: float, latent: int) -> float:
    """The sum of exp(-(scale Q^-1(p))^2 / 2), once for each latent dimension, cut at 1."""
    if not 0 < encoder_error < 0.5:
        raise InputError(
            "the encoder's error is not usable", where="Theorem 1", got=str(encoder_error), need="over 0, under 0.5"
        )
    from scipy.special import ndtri

    check_positive("the number of latent dimensions", "Theorem 1", latent)
    margin = -float(ndtri(encoder_error))  # Q^-1(p): what a standard Gaussian exceeds with probability p
    return min(float(latent * np.exp(-((scale * margin) ** 2) / 2).sum()), 1.0)


def largest_step(smoothness: float, mixing: NDArray[np.float64]) -> float:
    """Equation 29: steps below this make Theorem 2's printed bound finite, for L-smooth losses and row-normalised A.

    Assumes full gradients, one local step a round, and all clients in every round. |I - A| is the spectral norm.
    """
    check_positive("the smoothness", "equation 29", smoothness)
    return 2 / (smoothness * (1 + math.sqrt(1 + 4 * distance_from_identity(mixing) ** 2)))


def optimality_gap(
    first: float, last: float, rounds: int, step: float, smoothness: float, mixing: NDArray[np.float64]
) -> float:
    """Theorem 2 as printed: the mean squared change of a model in a round, from the first and the last total loss.

    Not a bound on a graph (see above). Infinite for steps that are not below `largest_step`. Assumes what that assumes,
    and losses bounded from below.
    """
    factor = printed_factor(rounds, step, smoothness, mixing)
    return (first - last) / (rounds * len(mixing) * factor) if factor > 0 else math.inf


def optimality_gap_after_epochs(
    distances: tuple[float, float],
    optima: tuple[float, float],
    epochs: int,
    rounds: int,
    step: float,
    smoothness: float,
    mixing: NDArray[np.float64],
) -> float:
    """Equation 38 as printed: Theorem 2 with E local epochs.

    `distances` are the squared distances of the models from the optimum in the first and the last round, `optima` the
    total losses there. It inherits what is wrong with Theorem 2, and takes losses to be convex.
    """
    check_positive("the number of epochs", "equation 38", epochs)
    loss = (sum(distances) + 2 * step * epochs * (optima[0] - optima[1])) / (2 * step * epochs)
    return optimality_gap(loss, 0.0, rounds, step, smoothness, mixing)


def repaired_optimality_gap(first: float, last: float, rounds: int, step: float, smoothness: float) -> float:
    """A bound that holds for disjoint groups: the mean over rounds of sum_i p_i |w_i^t - w_i^(t-1)|^2.

    A takes the mean of each group, weighed by the clients' shares p of the examples; `first` and `last` are sums of
    p_i F_i(w_i), each F_i L-smooth. Clients of a group start from one model. Weighed by p, A is an orthogonal
    projection, the change in a round is -eta A grad F, and each round lowers the loss by at least (1 / eta - L / 2)
    times the squared change, whatever the sizes of the groups. Infinite for steps from 2 / L on.
    """
    for name, value in (("the number of rounds", rounds), ("the step", step), ("the smoothness", smoothness)):
        check_positive(name, "Theorem 2", value)
    factor = 1 / step - smoothness / 2
    return (first - last) / (rounds * factor) if factor > 0 else math.inf


def printed_factor(rounds: int, step: float, smoothness: float, mixing: NDArray[np.float64]) -> float:
    """What the loss is divided by in Theorem 2."""
    for name, value in (("the number of rounds", rounds), ("the step", step), ("the smoothness", smoothness)):
        check_positive(name, "Theorem 2", value)
    squared = distance_from_identity(mixing) ** 2
    return 1 / (2 * step) - smoothness / 2 - step / 2 * smoothness**2 * squared


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
