"""ABC, figure 5: scores and groups of clients by their drifts, under three mixes of three data sets."""

from collections.abc import Mapping
from itertools import pairwise

from fedclade.core import Groups
from fedclade.runs.metrics import rand_index
from fedclade_papers.abc import MIXES, PAPER, SOURCES, local, network, world
from fedclade_papers.cfl import planted_groups
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Setting, Terms
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.weights import file_of

CLIENTS = 10


def settings(terms: Terms) -> tuple[Setting, ...]:
    """One check-in, in the first round: every client has a score."""
    return tuple(
        Setting(
            name=f"scores-{data.lower()}-{mix}",
            data=world(data, mix, CLIENTS),
            net={"name": "abc_cnn", "start": "he"},
            local=local(terms),
            run={"rounds": 2, "participation": 0.2, "evaluate_every": 2},
            methods={
                "groups": {"name": "abc"},
                "attention": {"name": "abc", "score": "attention", "network": str(file_of(network_recipe, terms))},
                "first component": {"name": "abc", "score": "pca"},
            },
            networks=(network_recipe,),
            seeds=3,
            minutes=0.1,
        )
        for data in SOURCES
        for network_recipe in (network(terms, data, CLIENTS),)
        for mix in MIXES
    )


def read(found: ItemRuns) -> Outcome:
    """Whether one score for each client separates the planted clusters, and whether groups of drifts are those."""
    lines, series = [], {}
    right: list[bool] = []
    apart: dict[str, list[bool]] = {"attention": [], "first component": []}
    for setting in found.settings:
        name = setting.name.removeprefix("scores-").upper()
        truths = [planted_groups(setting, seed) for seed in range(setting.seeds)]
        aris = [
            rand_index(Groups.from_labels(check_in_values(found, setting.name, "groups", "drift_groups", seed)), truth)
            for seed, truth in enumerate(truths)
        ]
        right += [ari == 1 for ari in aris]
        lines.append(ResultLine(row=name, column="ARI of groups of drifts", printed=None, ours=sum(aris) / len(aris)))
        for label, seen in apart.items():
            scores = [check_in_values(found, setting.name, label, "scores", seed) for seed in range(setting.seeds)]
            split = [ranges_are_disjoint(each, truth) for each, truth in zip(scores, truths, strict=True)]
            seen += split
            share = 100 * sum(split) / len(split)
            lines.append(ResultLine(row=name, column=f"{label}: % of runs without overlap", printed=None, ours=share))
            order = [client for part in truths[0].members for client in part]
            series[f"{name}, {label}"] = {
                "x": [float(place) for place in range(len(order))],
                "y": [float(scores[0][client]) for client in order],
            }
    return Outcome(
        tuple(lines),
        (
            majority_claim(apart["attention"], "the network's scores tell clusters apart: they do not overlap"),
            majority_claim(
                apart["first component"],
                "so does the first principal component of the drifts",
                main=False,
                by_paper=False,
            ),
            majority_claim(right, "groups of drifts are exactly the planted clusters", main=False, by_paper=False),
        ),
        series,
    )


def majority_claim(seen: list[bool], text: str, *, main: bool = True, by_paper: bool = True) -> Claim:
    """That something holds in most runs."""
    return Claim(text, sum(seen) > len(seen) / 2, f"in {sum(seen)} of {len(seen)} runs", main, by_paper)


def check_in_values(found: ItemRuns, setting: str, label: str, fact: str, seed: int) -> Mapping[str, float]:
    """The value of each client in the facts of the first check-in; empty if there is none."""
    for _, facts in found.facts(setting, label, seed):
        if isinstance(each := facts.get(fact), Mapping):
            return each
    return {}


def ranges_are_disjoint(scores: Mapping[str, float], truth: Groups) -> bool:
    """Whether the ranges of the clusters' scores do not overlap."""
    ranges = sorted(
        (min(scores[client] for client in part), max(scores[client] for client in part)) for part in truth.members
    )
    return all(high < low for (_, high), (low, _) in pairwise(ranges))


ITEM = Item(
    name="abc-figure5",
    paper=PAPER,
    title="What the drifts of ten clients reveal about them, under three mixes of three data sets",
    differences=(
        "EMNIST is MNIST here. Mixes, net and hyper-parameters are ours: the paper's are in an appendix that is not "
        "available. Ten clients, three seeds. Beside the network's scores stand the first principal component of the "
        "drifts, and their groups. Small scale: 10 batches instead of 5, networks that have watched 60 rounds instead "
        "of 300 and learnt for 20 epochs instead of 100."
    ),
    missing="the appendix with the mixes of classes and the network's hyper-parameters, which its pictures depend on",
    rule="Each claim holds if it does in most runs.",
    settings=settings,
    read=read,
)
