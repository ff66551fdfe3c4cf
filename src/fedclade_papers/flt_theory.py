"""FLT's theory as properties of random instances: Theorems 1 and 2 as printed, and as they hold when repaired."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from fedclade.core import generator
from fedclade_papers.flt import PAPER
from fedclade_papers.flt_bounds import (
    clustering_error,
    largest_step,
    optimality_gap,
    repaired_clustering_error,
    repaired_optimality_gap,
)
from fedclade_papers.item import Claim, Item, Outcome
from fedclade_papers.run_results import ItemRuns

INSTANCES = {"tiny": 100, "small": 2000, "paper": 10_000}
ROUNDS = 30
ROUNDING = 1e-9


def read(found: ItemRuns) -> Outcome:
    """Count the random instances in which a theorem is a bound."""
    asked = INSTANCES[found.terms.scale]
    first = [theorem_1_holds(number) for number in range(asked)]
    on_graphs = [theorem_2_holds(number) for number in range(asked)]
    on_groups = [repaired_theorem_2_holds(number) for number in range(asked)]

    def count(held: list[bool]) -> str:
        return f"holds in {sum(held)} of {asked} instances"

    printed, repaired = [one for one, _ in first], [other for _, other in first]
    star = star_gap()
    return Outcome(
        claims=(
            Claim("Theorem 1 bounds the clustering error, as printed", all(printed), count(printed)),
            Claim(
                "Theorem 2 bounds the change of models on any graph, as printed",
                all(on_graphs) and star >= 0,
                f"{count(on_graphs)}; on a star of four clients the bound is {star:.4f}, below zero",
            ),
            Claim(
                "Theorem 1 with the root of n in the place of n is a bound",
                all(repaired),
                count(repaired),
                main=False,
                by_paper=False,
            ),
            Claim(
                "Theorem 2 repaired for disjoint groups is a bound",
                all(on_groups),
                count(on_groups),
                main=False,
                by_paper=False,
            ),
        )
    )


def theorem_1_holds(number: int) -> tuple[bool, bool]:
    """One random federation: whether the exact error is within the bound as printed, and as repaired.

    The mean of n Gaussian encodings is on the wrong side with probability Q(sqrt(n) Q^-1(p)); an error in one client,
    label or dimension is an error.
    """
    rng = generator(0, "FLT, Theorem 1", number)
    counts = rng.integers(0, 40, (int(rng.integers(1, 5)), 3))
    error, latent = float(rng.uniform(0.01, 0.49)), int(rng.integers(1, 5))
    held = counts[counts > 0]
    exact = 1 - float(np.prod((1 - norm.sf(np.sqrt(held) * norm.isf(error))) ** latent))
    bounds = clustering_error(counts, error, latent), repaired_clustering_error(counts, error, latent)
    return exact <= bounds[0] + ROUNDING, exact <= bounds[1] + ROUNDING


def theorem_2_holds(number: int) -> bool:
    """One random graph with quadratic losses: whether the printed bound is one, for half the largest step it allows."""
    rng = generator(0, "FLT, Theorem 2", number)
    clients = int(rng.integers(2, 7))
    links = rng.random((clients, clients)) < 0.5
    links |= links.T | np.eye(clients, dtype=bool)
    mixing = links / links.sum(axis=1, keepdims=True)
    optima, curves = rng.normal(size=(clients, 2)), rng.uniform(0.1, 1.0, clients)
    step = largest_step(1.0, mixing) / 2
    models = train_models(mixing, step, optima, curves)
    losses = [float((curves * ((each - optima) ** 2).sum(axis=1)).sum()) / 2 for each in models]
    change = float(np.mean([((new - old) ** 2).sum() / clients for old, new in pairwise(models)]))
    return change <= optimality_gap(losses[0], losses[-1], ROUNDS, step, 1.0, mixing) + ROUNDING


def star_gap() -> float:
    """The printed bound where the centre of a star has an optimum of its own: the loss rises, so it is negative."""
    links = np.eye(4)
    links[0, :] = links[:, 0] = 1
    mixing = links / links.sum(axis=1, keepdims=True)
    optima = np.array([[0.75], [-0.25], [-0.25], [-0.25]])  # the best common model is 0, where all start
    step = largest_step(1.0, mixing) / 2
    models = train_models(mixing, step, optima, np.ones(4))
    losses = [float(((each - optima) ** 2).sum()) / 2 for each in models]
    return optimality_gap(losses[0], losses[-1], ROUNDS, step, 1.0, mixing)


def repaired_theorem_2_holds(number: int) -> bool:
    """Random groups of unequal sizes, shares and curvatures up to L, with steps up to 2 / L."""
    rng = generator(0, "FLT, Theorem 2 repaired", number)
    clients = int(rng.integers(2, 7))
    groups, shares = rng.integers(0, 3, clients), rng.dirichlet(np.ones(clients))
    same = np.equal.outer(groups, groups) * shares
    optima, curves = rng.normal(size=(clients, 2)), rng.uniform(0.1, 1.0, clients)
    step = float(rng.uniform(0.01, 1.99))
    models = train_models(same / same.sum(axis=1, keepdims=True), step, optima, curves)
    losses = [float((shares * curves * ((each - optima) ** 2).sum(axis=1)).sum()) / 2 for each in models]
    change = float(np.mean([(shares * ((new - old) ** 2).sum(axis=1)).sum() for old, new in pairwise(models)]))
    return change <= repaired_optimality_gap(losses[0], losses[-1], ROUNDS, step, 1.0) + ROUNDING


def train_models(
    mixing: NDArray[np.float64], step: float, optima: NDArray[np.float64], curves: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """W^t = A (W^(t-1) - eta grad F) for losses curve_i / 2 |w - optimum_i|^2; all start from one model."""
    models = [np.zeros_like(optima)]
    for _ in range(ROUNDS):
        models.append(mixing @ (models[-1] - step * curves[:, None] * (models[-1] - optima)))
    return models


ITEM = Item(
    name="flt-theory",
    paper=PAPER,
    title="Theorems 1 and 2 on random instances, as printed and repaired",
    differences="Nothing is trained: instances are drawn so that the theorems' premises hold.",
    read=read,
    minutes={"small": 0.1, "paper": 0.3, "tiny": 0.1},
)
