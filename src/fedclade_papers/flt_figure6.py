"""FLT, figure 6: the links of 240 clients in scenario 4. Figure 7 reads the same runs."""

from dataclasses import replace

from fedclade.core import Groups
from fedclade.runs.experiment import experiment_from
from fedclade.runs.metrics import rand_index
from fedclade_papers.flt import PAPER, rivals, structured_setting
from fedclade_papers.flt_table4 import DIFFERENCES
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Setting, Terms
from fedclade_papers.matrices import client_points, flt_of, groups_of, label_links, pair_shares, picture
from fedclade_papers.run_results import ItemRuns

ROUNDS = 50
RIVALS = ("FedSEM", "PCA+kM+HC")
MIN_INSIDE, MAX_ACROSS = 0.5, 0.01  # "almost perfectly ... a block-diagonal adjacency matrix": shares of pairs
NEAR, FAR = 0.9, 0.7  # ARI


def setting_of(terms: Terms) -> Setting:
    """That of table 4 with 240 clients, without FLT, whose links are found before training; small scale has 240."""
    whole = structured_setting(terms, "mlp")
    if not terms.is_full_scale:
        return whole
    return replace(
        whole,
        name="s4-mlp-240",
        data={**whole.data, "clients": 240},
        run={**whole.run, "rounds": ROUNDS, "evaluate_every": 1},
        methods={"FedSEM": rivals(terms, 10, with_local=False)["FedSEM"], "PCA+kM+HC": whole.methods["PCA+kM+HC"]},
        minutes=4.0,
    )


def read(found: ItemRuns) -> Outcome:
    """FLT's links before training, and the final groups of two rivals."""
    setting = found.settings[0]
    federation = experiment_from({"data": setting.data, "run": {"seed": 0}}).federation()
    assert federation.truth is not None
    clients = federation.clients
    order = [one for part in federation.truth.members for one in part]
    truth = label_links(federation.truth.labels, clients)
    method = structured_setting(found.terms, "mlp").methods["FLT"]
    flt, points = flt_of(method), client_points(federation, method)
    seen, by_itself = groups_of(points, flt), groups_of(points, replace(flt, groups=0))
    assert seen.clients == clients
    links = {"FLT": seen.squared < flt.gamma**2}
    for label in RIVALS:
        links[label] = label_links(found.runs(setting.name, label)[0].models().row_by_client, clients)
    shares = {label: pair_shares(each, truth) for label, each in links.items()}
    lines = [
        ResultLine(row=label, column=column, printed=None, ours=100 * share)
        for label, both in shares.items()
        for column, share in zip(("% of pairs of a group linked", "% of other pairs linked"), both, strict=True)
    ]
    rivals = {label: found.metric(setting.name, label, "ari").mean for label in RIVALS}
    inside, across = shares["FLT"]
    ari = rand_index(Groups(by_itself.partition.members), federation.truth)
    return Outcome(
        tuple(lines),
        (
            Claim(
                "FLT's links are ten blocks: most pairs of a group (half), and hardly any others (1 %)",
                inside >= MIN_INSIDE and across <= MAX_ACROSS,
                f"{100 * inside:.1f} % of the pairs of a group, {100 * across:.2f} % of other pairs",
            ),
            Claim(
                "FLT detects by itself that there are ten groups (ARI 0.9)",
                ari >= NEAR,
                f"{len(by_itself.partition)} groups, ARI {ari:.3f}",
                main=False,
            ),
            Claim(
                "FedSEM's groups are far from the ten (ARI under 0.7)",
                rivals["FedSEM"] < FAR,
                f"ARI {rivals['FedSEM']:.3f}",
                main=False,
            ),
            Claim("so are those of PCA+kM+HC", rivals["PCA+kM+HC"] < FAR, f"ARI {rivals['PCA+kM+HC']:.3f}", main=False),
        ),
        {label: picture(each, clients, order) for label, each in links.items()},
    )


ITEM = Item(
    name="flt-figure6",
    paper=PAPER,
    title="Which of 240 clients FLT links, and FedSEM and PCA+kM+HC put together, in scenario 4",
    differences=DIFFERENCES
    + " By the code FedSEM clusters all clients in every round, also those that have never trained. The caption says "
    "scenario 2; the text and C = 10 say scenario 4. How the number of groups is detected is not said: here it is by "
    "silhouettes, and by the code's reading the connected components.",
    settings=lambda terms: (setting_of(terms),),
    read=read,
    minutes={"small": 0.3, "paper": 1.0, "tiny": 0.3},
)
