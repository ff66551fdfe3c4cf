"""CFL's theory as properties of random instances: Theorem 1's bounds, and that Algorithm 1 is optimal."""

from itertools import combinations, count, islice

import numpy as np

from fedclade.clustering.bipartition import bipartition
from fedclade.clustering.distances import Matrix, cosines
from fedclade.core import Groups, generator
from fedclade_papers.cfl import PAPER
from fedclade_papers.cfl_bounds import cross_bound, divides_no_group, intra_bound
from fedclade_papers.item import Claim, Item, Outcome
from fedclade_papers.run_results import ItemRuns

INSTANCES = {"tiny": 50, "small": 1000, "paper": 1000}
ROUNDING = 1e-5  # of cosines in single precision
MAX_CLIENTS = 8


def read(found: ItemRuns) -> Outcome:
    """Count, for each property, instances in which it holds; those that say nothing of it are drawn again."""
    asked = INSTANCES[found.terms.scale]
    inside, across, right = (count_holding(place, asked) for place in range(3))
    optimal = sum(is_optimal(number) for number in range(asked))
    return Outcome(
        claims=(
            Claim(
                "Theorem 1: clients of one distribution are at least as alike as the bound says (equation 19)",
                inside == asked,
                f"{inside} of {asked} instances",
            ),
            Claim(
                "Theorem 1: some bipartition keeps the largest similarity across below the bound (equation 17)",
                across == asked,
                f"{across} of {asked} instances with a bound below 1",
            ),
            Claim(
                "Corollary 1: where the bounds leave a gap no group is divided",
                right == asked,
                f"{right} of {asked} instances with a gap",
            ),
            Claim(
                f"Algorithm 1 is optimal against all bipartitions, for 2 to {MAX_CLIENTS} clients (equation 23)",
                optimal == asked,
                f"{optimal} of {asked} instances",
            ),
        ),
    )


def count_holding(place: int, asked: int) -> int:
    """In how many of the first `asked` instances that say something of a property it holds."""
    each = (bounds_hold(number)[place] for number in count())
    return sum(islice((holds for holds in each if holds is not None), asked))


def bounds_hold(number: int) -> tuple[bool, bool | None, bool | None]:
    """One random stationary point: K gradients that add to 0, three clients each, off by gamma_i exactly.

    Whether equation 19 holds, equation 17 (None for a bound that no cosine can exceed), and whether no group is divided
    (None where the bounds leave no gap).
    """
    rng = generator(0, "Theorem 1", number)
    distributions, dimensions = int(rng.integers(2, 7)), int(rng.integers(2, 30))
    risks = rng.standard_normal((distributions, dimensions))
    risks -= risks.mean(axis=0)
    labels = np.repeat(np.arange(distributions), 3)
    gammas = rng.uniform(0, rng.uniform(0.01, 0.99), len(labels))
    noise = rng.standard_normal((len(labels), dimensions))
    noise *= (gammas * np.linalg.norm(risks[labels], axis=1) / np.linalg.norm(noise, axis=1))[:, None]
    ids = [f"{place:02d}" for place in range(len(labels))]
    alike = cosines(ids, (risks[labels] + noise).astype(np.float32))

    def inside(distribution: int) -> float:
        mine = np.flatnonzero(labels == distribution)
        return float(alike.values[np.ix_(mine, mine)][np.triu_indices(len(mine), 1)].min())

    parted = bipartition(alike)
    lowest = intra_bound(gammas)  # of any two clients; equation 19 is about those of one distribution
    highest = cross_bound(lowest, distributions)
    truth = Groups.from_labels(dict(zip(ids, labels.tolist(), strict=True)))
    return (
        all(inside(each) >= intra_bound(gammas[labels == each]) - ROUNDING for each in range(distributions)),
        parted.cross <= highest + ROUNDING if highest < 1 else None,
        divides_no_group(parted.parts[0], truth) if lowest > highest else None,
    )


def is_optimal(number: int) -> bool:
    """One random matrix of similarities: whether no bipartition has less across than Algorithm 1's."""
    rng = generator(0, "Algorithm 1", number)
    clients = int(rng.integers(2, MAX_CLIENTS + 1))
    values = rng.uniform(-1, 1, (clients, clients))
    values = (values + values.T) / 2
    ids = tuple(f"{place}" for place in range(clients))
    least = min(
        values[np.ix_(part, sorted(set(range(clients)) - set(part)))].max()
        for size in range(1, clients // 2 + 1)
        for part in combinations(range(clients), size)
    )
    return bool(abs(bipartition(Matrix(ids, values.astype(np.float32))).cross - least) < ROUNDING)


ITEM = Item(
    name="cfl-theory",
    paper=PAPER,
    title="Theorem 1, Corollary 1 and Algorithm 1 on random instances",
    differences="Nothing is trained: instances are drawn so that the theorem's premises hold.",
    rule="A property holds if it does in every instance.",
    read=read,
    minutes={"small": 0.2, "paper": 0.2, "tiny": 0.1},
)
