"""Whether FLT finds planted groups, says 'one group' where there are none, and places newcomers: on real data.

FEDCLADE_DATA must hold MNIST, EMNIST, the writers and CIFAR-10. The truth is read here, to judge, and by nothing else.

    python benchmarks/flt_groups.py --seeds 10 --from 100 [--worlds S1,S2,...]
    python benchmarks/flt_groups.py --signature kind=encoder umap_dimensions=2 own_tuning_epochs=5
    python benchmarks/flt_groups.py --preset paper|published
"""

import argparse
from collections.abc import Mapping
from time import perf_counter

import numpy as np
from sklearn.metrics import adjusted_rand_score

import fedclade as fc
from fedclade.methods import method_named
from fedclade.runs.experiment import apply_change

WORLDS: dict[str, dict[str, object]] = {
    "S1": {"source": "mnist", "world": "classes", "clients": 100, "groups": 5},
    "S2": {"source": "mnist", "world": "overlap", "clients": 100, "groups": 5},
    "S4": {"source": "emnist47", "world": "structured", "clients": 240},
    "S4-2400": {"source": "emnist47", "world": "structured", "clients": 2400},
    "ROT": {"source": "mnist", "world": "rotation", "clients": 100, "groups": 4},
    "PERM": {"source": "mnist", "world": "label-permutation", "clients": 100, "groups": 4},
    "SWAP": {"source": "mnist", "world": "label-swap", "clients": 100, "groups": 2},
    "IMB": {"source": "mnist", "world": "classes", "clients": 100, "groups": 5, "group_sizes": (60, 25, 10, 4, 1)},
    "SKEW": {"source": "mnist", "world": "rotation", "clients": 100, "groups": 4, "skew": 0.5},
    "SKEW-0.1": {"source": "mnist", "world": "rotation", "clients": 100, "groups": 4, "skew": 0.1},
    "IID": {"source": "mnist", "world": "iid", "clients": 100},
    "IID-60": {"source": "mnist", "world": "iid", "clients": 800},
    "IID-60-100": {"source": "mnist", "world": "iid", "clients": 800, "some": 100},
    "ROT-60": {"source": "mnist", "world": "rotation", "clients": 800, "groups": 4, "some": 100},
    "PERM-60": {"source": "mnist", "world": "label-permutation", "clients": 800, "groups": 4, "some": 100},
    "WRITERS": {"source": "mnist-writers", "world": "writers", "clients": 100},
    "DIR": {"source": "mnist", "world": "dirichlet", "clients": 100, "alpha": 0.5},
    "CIFAR-S1": {"source": "cifar10", "world": "classes", "clients": 100, "groups": 5},
    "CIFAR-PERM": {"source": "cifar10", "world": "label-permutation", "clients": 100, "groups": 4},
}


def agreement(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The adjusted Rand index over the clients that both have."""
    both = sorted(set(one) & set(other))
    return float(adjusted_rand_score([one[client] for client in both], [other[client] for client in both]))


def build_world(world: str, seed: int) -> fc.Federation:
    """One world of the table."""
    recipe = dict(WORLDS[world])
    some = recipe.pop("some", 0)
    federation = fc.data.build(seed=seed, **recipe)  # type: ignore[arg-type]  # each of the right type
    return some_of(federation, some, seed) if isinstance(some, int) and some else federation


def some_of(federation: fc.Federation, count: int, seed: int) -> fc.Federation:
    """So many of its clients, drawn at random."""
    stay = np.random.default_rng(seed).choice(federation.clients, count, replace=False)
    truth = federation.truth and fc.Groups.from_labels({client: federation.truth.labels[client] for client in stay})
    return fc.Federation("some", {client: federation[client] for client in sorted(stay)}, federation.classes, truth)


def evaluate_world(world: str, seed: int, method: fc.FLT) -> dict[str, object]:
    """One world: what was found, and again without a fifth of the clients."""
    federation = build_world(world, seed)
    begin = perf_counter()
    found = fc.find_groups(federation, method, seed=seed)
    seconds = perf_counter() - begin
    again = fc.find_groups(some_of(federation, int(0.8 * len(federation)), seed), method, seed=seed)
    truth = federation.truth
    return {
        "ari": None if truth is None else round(agreement(found.partition.labels, truth.labels), 4),
        "groups": found.count,
        "outliers": len(found.outliers),
        "confidence": round(found.confidence, 3),
        "gates": {kind: round(gate, 3) for kind, gate in found.separations.items()},
        "same without a fifth": round(agreement(found.partition.labels, again.partition.labels), 4),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from", type=int, default=100, dest="first")
    parser.add_argument("--gamma", type=float, default=0.0)
    parser.add_argument("--preset", default="none")
    parser.add_argument("--signature", nargs="*", default=(), help="settings of the signature: name=value")
    parser.add_argument("--worlds", default=",".join(WORLDS))
    asked = parser.parse_args()
    tables: dict[str, object] = {"method": {"preset": asked.preset, "gamma": asked.gamma, "signature": {}}}
    for setting in asked.signature:
        apply_change(tables, f"method.signature.{setting}")
    method = method_named("flt", tables["method"])
    for world in asked.worlds.split(","):
        lines = [evaluate_world(world, seed, method) for seed in range(asked.first, asked.first + asked.seeds)]
        columns = {name: [line[name] for line in lines] for name in lines[0]}
        print(world, *(f"{name} {values}" for name, values in columns.items()), sep="; ", flush=True)


if __name__ == "__main__":
    main()
