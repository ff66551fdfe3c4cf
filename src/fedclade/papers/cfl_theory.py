"""CFL's theory as properties of random instances: Theorem 1's bounds, and that Algorithm 1 is optimal."""

from itertools import combinations

import numpy as np

from fedclade.nouns import Groups, generator
from fedclade.papers.cfl import PAPER
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Outcome
from fedclade.relate.bipartition import bipartition
from fedclade.relate.distances import Matrix, cosines
from fedclade.relate.theory_cfl import cross_bound, divides_no_group, intra_bound

INSTANCES = {"tiny": 50, "small": 1000, "paper": 1000}
ROUNDING = 1e-5  # of cosines in single precision
MOST_CLIENTS = 8


def read(found: Found) -> Outcome:
    """As many instances of each property."""
    count = INSTANCES[found.terms.scale]
    theorem = [bounds_hold(number) for number in range(count)]
    telling = sum(each[3] for each in theorem)
    optimal = sum(is_optimal(number) for number in range(count))
    inside, across, right = (sum(each[place] for each in theorem) for place in range(3))
    return Outcome(
        claims=(
            Claim(
                "Theorem 1: clients of one distribution are at least as alike as the bound says (equation 19)",
                inside == count,
                f"{inside} of {count} instances",
            ),
            Claim(
                "Theorem 1: some bipartition keeps the largest similarity across below the bound (equation 17)",
                across == count,
                f"{across} of {count}; the bound is below 1 in {telling}",
            ),
            Claim(
                "Corollary 1: where the bounds leave a gap no group is divided",
                right == count,
                f"{right} of {count}",
            ),
            Claim(
                f"Algorithm 1 is optimal against all bipartitions, for 2 to {MOST_CLIENTS} clients (equation 23)",
                optimal == count,
                f"{optimal} of {count}",
            ),
        ),
    )


def bounds_hold(number: int) -> tuple[bool, bool, bool, bool]:
    """One random stationary point: K gradients that add to 0, three clients each, off by gamma_i exactly."""
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
    same = (labels[:, None] == labels) & ~np.eye(len(labels), dtype=bool)
    inside = float(alike.values[same].min())
    parted = bipartition(alike)
    lowest = intra_bound(gammas)
    highest = cross_bound(lowest, distributions)
    truth = Groups.from_labels(dict(zip(ids, labels.tolist(), strict=True)))
    return (
        inside >= lowest - ROUNDING,
        parted.cross <= highest + ROUNDING,
        lowest <= highest or divides_no_group(parted.parts[0], truth),
        highest < 1,
    )


def is_optimal(number: int) -> bool:
    """One random matrix of similarities: nobody has a bipartition with less across than Algorithm 1's."""
    rng = generator(0, "Algorithm 1", number)
    count = int(rng.integers(2, MOST_CLIENTS + 1))
    values = rng.uniform(-1, 1, (count, count))
    values = (values + values.T) / 2
    ids = tuple(f"{place}" for place in range(count))
    least = min(
        values[np.ix_(part, sorted(set(range(count)) - set(part)))].max()
        for size in range(1, count // 2 + 1)
        for part in combinations(range(count), size)
    )
    return bool(abs(bipartition(Matrix(ids, values.astype(np.float32))).cross - least) < ROUNDING)


ITEM = Item(
    name="cfl-theory",
    paper=PAPER,
    title="Theorem 1, Corollary 1 and Algorithm 1 on random instances",
    differs="Nothing is trained: instances are drawn so that the theorem's premises hold.",
    rule="Reproduced if every property holds in every instance, not reproduced otherwise.",
    read=read,
    minutes={"small": 0.2, "paper": 0.2, "tiny": 0.1},
)
