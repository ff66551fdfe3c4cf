"""CFL's figure 3 as a table: how often the bipartition is right, for K distributions and noise gamma.

python benchmarks/cfl_figure3.py [--trials 1500]
"""

import argparse
from time import perf_counter

from fedclade_papers.cfl_bounds import largest_gamma, share_correct

GAMMAS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1500)
    asked = parser.parse_args()
    begin = perf_counter()
    print("| K | guaranteed below |", *(f"{gamma:g} |" for gamma in GAMMAS))
    for distributions in (2, 4, 8, 20):
        shares = [share_correct(distributions, gamma, asked.trials) for gamma in GAMMAS]
        print(
            f"| {distributions} | {largest_gamma(distributions):.2f} |",
            *(f"{share:.2f} |" for share in shares),
            flush=True,
        )
    print(f"{perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
