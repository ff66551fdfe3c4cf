"""CFL, figure 3: how often the bipartition is right, for K distributions and noise gamma."""

from fedclade_papers.cfl import PAPER
from fedclade_papers.cfl_bounds import largest_gamma, share_correct
from fedclade_papers.item import Claim, Item, Outcome
from fedclade_papers.run_results import ItemRuns

TRIALS = {"tiny": 10, "small": 500, "paper": 2000}
DISTRIBUTIONS = (2, 4, 8, 12, 16, 20)
GAMMAS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
NEARLY_CERTAIN, NEARLY_NEVER = 0.95, 0.1  # "with probability close to 1"


def read(found: ItemRuns) -> Outcome:
    """Drawn gradients: M = 3 K clients in 100 dimensions, as the paper says."""
    shares = {}
    for count in DISTRIBUTIONS:
        found.show(f"cfl-figure3: K = {count}")
        shares[count] = [share_correct(count, gamma, TRIALS[found.terms.scale]) for gamma in GAMMAS]
    beyond = {k: share_correct(k, 1.05, TRIALS[found.terms.scale]) for k in (12, 16, 20)}
    guaranteed = [share_correct(k, 0.99 * largest_gamma(k), TRIALS[found.terms.scale]) for k in DISTRIBUTIONS]
    frontier = {
        k: max((g for g, s in zip(GAMMAS, row, strict=True) if s >= NEARLY_CERTAIN), default=0)
        for k, row in shares.items()
    }
    return Outcome(
        claims=(
            Claim(
                "in the guaranteed area (below Theorem 1's gamma) it is always right",
                all(share == 1 for share in guaranteed),
                f"{min(guaranteed):.3f} at the least",
            ),
            Claim(
                "for K > 10 and gamma > 1 the probability is close to 1 (0.95)",
                all(share >= NEARLY_CERTAIN for share in beyond.values()),
                ", ".join(f"K = {k}: {share:.3f}" for k, share in beyond.items()) + " at gamma = 1.05",
            ),
            Claim(
                "with more distributions less noise is tolerated",
                list(frontier.values()) == sorted(frontier.values(), reverse=True),
                ", ".join(f"K = {k}: up to {gamma:g}" for k, gamma in frontier.items()),
                main=False,
            ),
            Claim(
                "there is a frontier: far beyond it, it is hardly ever right",
                shares[20][-1] <= NEARLY_NEVER,
                f"K = 20, gamma = 3: {shares[20][-1]:.3f}",
                main=False,
            ),
        ),
        series={
            **{f"K = {k}": {"x": list(GAMMAS), "y": row} for k, row in shares.items()},
            "guaranteed gamma": {
                "x": [float(k) for k in DISTRIBUTIONS],
                "y": [largest_gamma(k) for k in DISTRIBUTIONS],
            },
        },
    )


ITEM = Item(
    name="cfl-figure3",
    paper=PAPER,
    title="How often clients are separated correctly, for K distributions and noise gamma",
    differences="Nothing: drawn gradients, as in the paper; 500 draws for each point at small scale, "
    "2,000 at the paper's.",
    read=read,
    minutes={"small": 0.3, "paper": 3.0, "tiny": 0.1},
)
