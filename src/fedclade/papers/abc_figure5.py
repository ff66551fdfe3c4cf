"""ABC, figure 5: what drifts tell of each client, under three mixes of three data sets."""

from collections.abc import Mapping
from itertools import pairwise

from fedclade.nouns import Groups
from fedclade.papers.abc import LOCAL, MIXES, PAPER, SOURCES, world
from fedclade.papers.cfl import planted
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Line, Outcome, Setting, Terms
from fedclade.papers.verdicts import CLAIMS_RULE
from fedclade.runs.metrics import rand_index

CLIENTS = 10


def settings(_: Terms) -> tuple[Setting, ...]:
    """One check-in, in the first round: an epoch of everybody, and what is told of it."""
    return tuple(
        Setting(
            name=f"scores-{data.lower()}-{mix}",
            data=world(data, mix, CLIENTS),
            net={"name": "abc_cnn", "start": "he"},
            local={**LOCAL, "epochs": 1},
            run={"rounds": 2, "participation": 0.2, "evaluate_every": 2},
            methods={"groups": {"name": "abc"}, "scores": {"name": "abc", "score": "pca"}},
            seeds=3,
            minutes=0.1,
        )
        for data in SOURCES
        for mix in MIXES
    )


def read(found: Found) -> Outcome:
    """Whether groups of drifts are the planted ones, and whether one number for each client tells them apart."""
    lines, series = [], {}
    right, apart = [], []
    for setting in found.settings:
        name = setting.name.removeprefix("scores-").upper()
        truths = [planted(setting, seed) for seed in range(setting.seeds)]
        aris = [
            rand_index(Groups.from_labels(told(found, setting.name, "groups", "drift_groups", seed)), truth)
            for seed, truth in enumerate(truths)
        ]
        scores = [told(found, setting.name, "scores", "scores", seed) for seed in range(setting.seeds)]
        split = [separated(each, truth) for each, truth in zip(scores, truths, strict=True)]
        right += [ari == 1 for ari in aris]
        apart += split
        order = [client for part in truths[0].members for client in part]
        series[name] = {
            "x": [float(place) for place in range(len(order))],
            "y": [float(scores[0][client]) for client in order],
        }
        lines.append(Line(row=name, column="ARI of groups of drifts", printed=None, ours=sum(aris) / len(aris)))
    return Outcome(
        tuple(lines),
        (
            Claim(
                "clients of one cluster can be told from the others by their drifts (groups)",
                sum(right) > len(right) / 2,
                f"exactly the planted clusters in {sum(right)} of {len(right)} runs",
            ),
            Claim(
                "one number for each client tells clusters apart (first principal component)",
                sum(apart) > len(apart) / 2,
                f"clusters do not overlap in {sum(apart)} of {len(apart)} runs",
                main=False,
            ),
        ),
        series,
    )


def told(found: Found, setting: str, label: str, what: str, seed: int) -> Mapping[str, float]:
    """What the first check-in told of each client."""
    for _, facts in found.facts(setting, label, seed):
        if isinstance(each := facts.get(what), Mapping):
            return each
    return {}


def separated(scores: Mapping[str, float], truth: Groups) -> bool:
    """Whether the ranges of the clusters' scores do not overlap."""
    ranges = sorted(
        (min(scores[client] for client in part), max(scores[client] for client in part)) for part in truth.members
    )
    return all(high < low for (_, high), (low, _) in pairwise(ranges))


ITEM = Item(
    name="abc-figure5",
    paper=PAPER,
    title="What the drifts of ten clients tell of them, under three mixes of three data sets",
    differs=(
        "Scores are not those of a trained attention network: groups of drifts, and places on their first principal "
        "component. Mixes, net and hyper-parameters are ours; ten clients, three seeds. Curves are those of the latter."
    ),
    rule=CLAIMS_RULE + " Each claim holds if it does in most runs.",
    settings=settings,
    read=read,
)
