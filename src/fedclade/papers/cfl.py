"""What the items of CFL's paper share: its worlds, and what is read from a run of CFL.

Sattler, Mueller, Samek: Clustered federated learning (2021). 20 clients in 4 groups, everybody in every round, three
epochs, batches of 100 (section V). The paper gives no step size, and no widths of its nets: those are ours.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from fedclade.nouns import Groups
from fedclade.papers.found import Fact, Found
from fedclade.papers.item import Setting, Table, Terms
from fedclade.runs.experiment import experiment_from

PAPER = "CFL"
NEVER: Table = {"name": "cfl", "rule": "absolute", "eps1": 0.0}  # no mean is shorter: it watches, and never splits
SMALL_MLP: Table = {"name": "mlp", "hidden": 32, "dropout": 0.0}
EVERYBODY: Table = {"participation": 1.0}
MNIST_LOCAL: Table = {"epochs": 3, "batch": 100, "lr": 0.05}


def swapped(terms: Terms, source: str, examples: int) -> Setting:
    """The label-swap problem with so many examples for each client, trained as one cluster: figures 6 and 7."""
    digits = source == "mnist"
    rounds = 50 if terms.whole else 20
    images = 20 * examples * rounds / 1e6 * 3 * 2  # millions that are trained on
    return Setting(
        name=f"swap-{source}-{examples}",
        data={
            "source": source,
            "world": "label-swap",
            "clients": 20 if terms.whole or digits else 12,
            "groups": 4,
            "fewer": {"examples": examples},
            **({"test_on": "group"} if terms.whole and not digits else {}),  # otherwise nobody has 2,400 of CIFAR-10
        },
        net={"name": "cfl_cnn" if terms.whole else "abc_cnn"},
        local={"epochs": 3, "batch": 20, "lr": 0.1},
        run={**EVERYBODY, "rounds": rounds, "evaluate_every": rounds},
        methods={"updates": NEVER, "gradients": {**NEVER, "similarity": "gradients"}},
        minutes=images * (10.0 if terms.whole else 1.5),
    )


def gaps(found: Found, setting: str, label: str) -> dict[str, list[float]]:
    """The separation gap of the one cluster after every round: x and y."""
    told = [(number, facts.get("separation_gaps")) for number, facts in found.facts(setting, label)]
    pairs = [(number, float(gap[0])) for number, gap in told if isinstance(gap, Sequence) and gap[0] is not None]
    return {"x": [float(number) for number, _ in pairs], "y": [value for _, value in pairs]}


def norms(facts: Sequence[tuple[int, Fact]], name: str) -> list[float]:
    """A figure of the first cluster, round by round."""
    found: list[float] = []
    for _, told in facts:
        clusters = told["clusters"]
        assert isinstance(clusters, Sequence)
        first = clusters[0]
        assert isinstance(first, Mapping)
        found.append(float(first[name]))
    return found


def splits(facts: Sequence[tuple[int, Fact]]) -> list[int]:
    """The rounds in which a cluster was split."""
    return [number for number, told in facts if isinstance(parts := told["splits"], Sequence) for _ in parts]


def planted(setting: Setting, seed: int) -> Groups:
    """The true groups of a run."""
    truth = experiment_from({"data": setting.data, "run": {"seed": seed}}).federation().truth
    assert truth is not None
    return truth


def exactly(found: Found, setting: str, label: str) -> list[bool]:
    """For each seed whether a method ended with the planted groups and no others."""
    return [float(str(run.result()["ari"])) == 1.0 for run in found.runs(setting, label)]


def share_placed(setting: Setting, homes: Mapping[str, int], seed: int) -> float:
    """The share of those who came late whose home is that of early clients most of whom are of their own group."""
    federation = experiment_from({"data": setting.data, "run": {"rounds": 10**6, "seed": seed}}).federation()
    assert federation.truth is not None
    truth, late = federation.truth.labels, federation.joins
    usual: dict[int, int] = {}
    for home in set(homes.values()):
        early = [truth[client] for client in homes if homes[client] == home and client not in late]
        usual[home] = int(np.bincount(early).argmax()) if early else -1
    return float(np.mean([truth[client] == usual[homes[client]] for client in late]))
