"""Shared by the items of CFL's paper: its worlds, and how a run of CFL is read.

Sattler, Mueller, Samek: Clustered federated learning (2021). 20 clients in 4 groups, all of them in every round, three
epochs, batches of 100 (section V). The paper gives no step size, and no widths of its nets: those are ours.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from fedclade.core import Groups
from fedclade.runs.experiment import experiment_from
from fedclade_papers.item import PlanTable, Setting, Terms
from fedclade_papers.run_results import ItemRuns, RoundFacts

PAPER = "CFL"
NEVER_SPLIT: PlanTable = {
    "name": "cfl",
    "rule": "absolute",
    "eps1": 0.0,
}  # no mean is shorter: it watches, and never splits
SMALL_MLP: PlanTable = {"name": "mlp", "hidden": 32, "dropout": 0.0}
FULL_PARTICIPATION: PlanTable = {"participation": 1.0}
MNIST_LOCAL: PlanTable = {"epochs": 3, "batch": 100, "lr": 0.05}


def label_swap_setting(terms: Terms, source: str, examples: int) -> Setting:
    """The label-swap problem with so many examples for each client, trained as one cluster: figures 6 and 7."""
    digits = source == "mnist"
    rounds = 50 if terms.is_full_scale else 20
    images = 20 * examples * rounds / 1e6 * 3 * 2  # millions that are trained on
    return Setting(
        name=f"swap-{source}-{examples}",
        data={
            "source": source,
            "world": "label-swap",
            "clients": 20 if terms.is_full_scale or digits else 12,
            "groups": 4,
            "fewer": {"examples": examples},
            **(
                {"test_on": "group"} if terms.is_full_scale and not digits else {}
            ),  # otherwise CIFAR-10 is too small for 2,400 each
        },
        net={"name": "cfl_cnn" if terms.is_full_scale else "abc_cnn"},
        local={"epochs": 3, "batch": 20, "lr": 0.1},
        run={**FULL_PARTICIPATION, "rounds": rounds, "evaluate_every": rounds},
        methods={"updates": NEVER_SPLIT, "gradients": {**NEVER_SPLIT, "similarity": "gradients"}},
        minutes=images * (10.0 if terms.is_full_scale else 1.5),
    )


def separation_gaps(found: ItemRuns, setting: str, label: str) -> dict[str, list[float]]:
    """The separation gap of the one cluster after every round: x and y."""
    values = [(number, facts.get("separation_gaps")) for number, facts in found.facts(setting, label)]
    pairs = [(number, float(gap[0])) for number, gap in values if isinstance(gap, Sequence) and gap[0] is not None]
    return {"x": [float(number) for number, _ in pairs], "y": [value for _, value in pairs]}


def cluster_norms(facts: Sequence[tuple[int, RoundFacts]], name: str) -> list[float]:
    """One norm of the first cluster, round by round."""
    found: list[float] = []
    for _, values in facts:
        clusters = values["clusters"]
        assert isinstance(clusters, Sequence)
        first = clusters[0]
        assert isinstance(first, Mapping)
        found.append(float(first[name]))
    return found


def split_rounds(facts: Sequence[tuple[int, RoundFacts]]) -> list[int]:
    """The rounds in which a cluster was split."""
    return [number for number, values in facts if isinstance(parts := values["splits"], Sequence) for _ in parts]


def planted_groups(setting: Setting, seed: int) -> Groups:
    """The true groups of a run."""
    truth = experiment_from({"data": setting.data, "run": {"seed": seed}}).federation().truth
    assert truth is not None
    return truth


def exact_by_seed(found: ItemRuns, setting: str, label: str) -> list[bool]:
    """For each seed whether a method ended with the planted groups and no others."""
    return [float(str(run.result()["ari"])) == 1.0 for run in found.runs(setting, label)]


def share_placed_right(setting: Setting, row_by_client: Mapping[str, int], seed: int) -> float:
    """The share of newcomers that have the model of earlier clients, most of which are of their own group."""
    federation = experiment_from({"data": setting.data, "run": {"rounds": 10**6, "seed": seed}}).federation()
    assert federation.truth is not None
    truth, late = federation.truth.labels, federation.joins
    usual: dict[int, int] = {}
    for row in set(row_by_client.values()):
        early = [truth[client] for client in row_by_client if row_by_client[client] == row and client not in late]
        usual[row] = int(np.bincount(early).argmax()) if early else -1
    return float(np.mean([truth[client] == usual[row_by_client[client]] for client in late]))
