"""`lr = "auto"` beside a grid of step sizes, on four raw tables with natural clients: accuracy on test examples.

FEDCLADE_DATA must hold the folder `tables`. FedAvg with the defaults of a user's own table. The ladder, the length of a
trial and the rule that keeps the middle value were chosen on the seeds 0 to 5; report others.

    python benchmarks/learning_rates.py --seeds 3 --from 6 --out benchmarks/results/learning-rates.json
"""

import argparse
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import fedclade as fc

TABLES: dict[str, dict[str, Any]] = {
    "vowels": {"client": "speaker", "label": "vowel"},
    "contraception": {"client": "district", "label": "use"},
    "wisdm": {"client": "user", "label": "class"},
    "portal": {"client": "plot_id", "label": "species_id", "without": ["genus", "species", "taxa"]},
}
GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
WITHIN = 0.01  # a point


def accuracies(federation: fc.Federation, seed: int, folder: Path) -> dict[str, float]:
    """The accuracy by each step size of the grid and by the search, and what the search chose."""
    found: dict[str, float] = {}
    for lr in (*GRID, "auto"):
        settings: dict[str, Any] = {"lr": lr, "seed": seed, "workers": 0, "evaluate_every": 200}
        run = fc.train(federation, fc.FedAvg(), out=folder / f"{lr}", **settings)
        found[f"{lr}"] = run.accuracy
        if isinstance(search := run.result.get("lr_search"), Mapping):
            found["chosen"] = search["lr"]
    return found


def compare(seeds: range) -> dict[str, object]:
    """Of each table every run, the best of the grid by its mean over seeds, and how far the search is from that."""
    tables = Path(os.environ["FEDCLADE_DATA"]) / "tables"
    report: dict[str, object] = {}
    for name, options in TABLES.items():
        runs: dict[int, dict[str, float]] = {}
        for seed in seeds:
            federation = fc.data.from_file(tables / f"{name}.csv.gz", seed=seed, **options)
            with tempfile.TemporaryDirectory() as folder:
                runs[seed] = accuracies(federation, seed, Path(folder))
        means = {lr: float(np.mean([run[lr] for run in runs.values()])) for lr in (*map(str, GRID), "auto")}
        best = max(map(str, GRID), key=lambda lr: means[lr])
        gap = means["auto"] - means[best]
        report[name] = {"best": best, "means": means, "gap": gap, "runs": runs}
        chosen = ", ".join(f"{run['chosen']:g}" for run in runs.values())
        line = f"best {best} {100 * means[best]:.1f} %, auto {100 * means['auto']:.1f} % ({chosen})"
        print(f"{name:14} {line}, {100 * gap:+.1f}: {'good' if gap >= -WITHIN else 'not within a point'}", flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from", type=int, default=6, dest="first")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    report = compare(range(asked.first, asked.first + asked.seeds))
    if asked.out:
        asked.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
