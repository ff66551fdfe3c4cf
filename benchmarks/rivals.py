"""Whether the methods that others propose find the groups that they say they find: on real data, over several seeds.

FEDCLADE_DATA must hold MNIST and EMNIST. The truth is read here, to judge, and by nothing else.

    python benchmarks/rivals.py ifca|fedsem|pca [--seeds 5] [--from 0]
    python benchmarks/rivals.py number [--seeds 100] [--clients 4] [--examples 100]
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

import fedclade as fc
from fedclade.api import Settings
from fedclade.clustering.group_number import number_of_groups
from fedclade.clustering.point_distances import set_distances
from fedclade.core import Groups, Round
from fedclade.data import ClientData, Part, Pool
from fedclade.fleet import Sketching
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import AnyMethod
from fedclade.methods.pca_kmeans_hc import ENCODER, principal_components
from fedclade.nets import net_for

SCENARIO_1: Mapping[str, object] = {"source": "mnist", "world": "classes", "clients": 100, "groups": 5}
ROTATED: Mapping[str, object] = {"source": "mnist", "world": "rotation", "clients": 400, "groups": 4}
FEW_ROUNDS: Settings = {"rounds": 20, "participation": 0.2, "epochs": 1, "batch": 10, "lr": 0.05, "evaluate_every": 20}
MAX_GROUPS = 8
DISTINCT_CLASSES = (
    0,
    1,
    2,
    3,
    4,
    6,
    7,
    8,
    10,
    14,
    17,
    22,
    25,
    32,
    33,
    38,
)  # classes of EMNIST that do not look alike: 0 to X, d


def agreement(found: Groups, truth: Groups) -> float:
    """The adjusted Rand index over all clients."""
    return float(adjusted_rand_score(*([each.labels[client] for client in truth.clients] for each in (found, truth))))


def misplaced_clients(found: Groups, truth: Groups) -> int:
    """How many clients are not in the found group that stands for their planted one, matched so that most are."""
    shared = np.zeros((len(found), len(truth)), np.int64)
    for client, number in found.labels.items():
        shared[number, truth.labels[client]] += 1
    return int(shared.sum() - shared[linear_sum_assignment(shared, maximize=True)].sum())


def train_and_print(name: str, world: Mapping[str, object], method: AnyMethod, seed: int, settings: Settings) -> None:
    """One run, and what came of it."""
    federation = fc.data.build(seed=seed, **world)  # type: ignore[arg-type]  # each of the right type
    assert federation.truth is not None
    begin = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        asked: Settings = {**settings, "seed": seed, "workers": 1}
        run = fc.train(federation, method, net="mlp", out=Path(folder) / "run", **asked)
        groups = run.groups
        print(
            f"{name}; seed {seed}; ARI {agreement(groups, federation.truth):.3f}; groups {len(groups)};"
            f" misplaced {misplaced_clients(groups, federation.truth)}; accuracy {100 * run.accuracy:.1f} %;"
            f" worst tenth {100 * run.worst_tenth:.1f} %; {perf_counter() - begin:.0f} s",
            flush=True,
        )


def count_groups(federation: fc.Federation, seed: int) -> dict[str, float]:
    """How many groups each rule sees in the shared basis; nothing is trained."""
    net = net_for("logistic", federation.shape, federation.classes)
    with simulated_fleet(federation, net, workers=0) as fleet:
        now = Round(0, seed)
        sums = fleet.scatter(fleet.clients(), ENCODER, now)
        basis, _ = principal_components(sums.examples, sums.total, sums.products, 128)
        points = fleet.sketch(fleet.clients(), Sketching(ENCODER, 5, basis=basis), now).points
    found = number_of_groups(set_distances("nearest", points), now.generator("number of groups"))
    right = federation.truth is None or found.groups == federation.truth
    return {
        "silhouette with gate": len(found.groups),
        "groups as planted": int(right),
        "height ratio": found.height_ratio,
        "gap": found.gap,
        "gate": found.separation,
        "stability": found.stability,
    }


def planted_federation(pool: Pool, seed: int, groups: int, clients: int, examples: int) -> fc.Federation:
    """So many groups of two classes each, as many clients in each; with 1, clients that draw from all of them."""
    rng = np.random.default_rng((seed, groups))
    classes = rng.permutation(DISTINCT_CLASSES)
    data, members = {}, []
    for group in range(groups):
        own = classes if groups == 1 else classes[2 * group : 2 * group + 2]
        of_group = rng.permutation(np.flatnonzero(np.isin(pool.labels, own)))
        count = MAX_GROUPS * clients if groups == 1 else clients
        names = tuple(f"client-{group}-{number:02}" for number in range(count))
        for number, name in enumerate(names):
            part = Part(pool, np.sort(of_group[number * examples : (number + 1) * examples]))
            data[name] = ClientData(part, part)
        members.append(names)
    return fc.Federation("planted", data, int(pool.labels.max()) + 1, Groups(tuple(members)))


def number(seeds: range, clients: int, examples: int) -> None:
    """The table of the automatic number of groups: for 2 to 8 planted groups, and for none."""
    whole = fc.data.build(source="emnist47", world="iid", clients=2, seed=0)
    pool = whole[whole.clients[0]].train.pool
    for groups in range(1, MAX_GROUPS + 1):
        lines = [count_groups(planted_federation(pool, seed, groups, clients, examples), seed) for seed in seeds]
        rules = ("silhouette with gate", "height ratio", "gap")
        right = {rule: sum(line[rule] == groups for line in lines) for rule in rules}
        gates, stable = ([line[name] for line in lines] for name in ("gate", "stability"))
        print(
            f"K {groups}; right of {len(lines)}: {right};"
            f" exactly the planted groups {sum(line['groups as planted_federation'] for line in lines):.0f};"
            f" found {dict(sorted(Counter(int(line['silhouette with gate']) for line in lines).items()))};"
            f" gate {min(gates):.2f} to {max(gates):.2f};"
            f" stability {min(stable):.2f} to {max(stable):.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ifca", "fedsem", "pca", "number"])
    parser.add_argument("--seeds", type=int, default=0, help="5, or 100 for number")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--clients", type=int, default=4, help="number: in each group")
    parser.add_argument("--examples", type=int, default=100, help="number: of each client")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + (asked.seeds or (100 if asked.what == "number" else 5)))
    if asked.what == "number":
        number(seeds, asked.clients, asked.examples)
        return
    for seed in seeds:
        if asked.what == "ifca":
            for restarts in (1, 3):
                method = fc.IFCA(clusters=4, restarts=restarts)
                train_and_print(f"IFCA, {restarts} starts", ROTATED, method, seed, FEW_ROUNDS)
        elif asked.what == "fedsem":
            for distance in ("all", "last"):
                train_and_print(
                    f"FedSEM, {distance}", SCENARIO_1, fc.FedSEM(clusters=5, distance=distance), seed, FEW_ROUNDS
                )
        else:
            for basis in ("shared", "own"):
                train_and_print(f"PCA+kM+HC, {basis} basis", SCENARIO_1, fc.PCAKMeansHC(basis=basis), seed, FEW_ROUNDS)
                given = fc.PCAKMeansHC(basis=basis, groups=5)
                train_and_print(f"PCA+kM+HC, {basis} basis, 5 groups given", SCENARIO_1, given, seed, FEW_ROUNDS)


if __name__ == "__main__":
    main()
