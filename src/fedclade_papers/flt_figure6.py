"""FLT, figure 6: the groups of 240 clients in scenario 4. Figure 7 reads the same runs."""

from dataclasses import replace

from fedclade.runs.experiment import experiment_from
from fedclade_papers.accuracy import ari_claim
from fedclade_papers.flt import OURS, PAPER, TEN_GROUPS, class_moments_labels, structured_setting
from fedclade_papers.flt_table4 import DIFFERENCES
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Setting, Terms
from fedclade_papers.matrices import label_links, pair_shares, picture
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.verdicts import CLAIMS_RULE

ROUNDS = 50


def setting_of(terms: Terms) -> Setting:
    """That of table 4 with 240 clients; at small scale it has 240 anyway."""
    whole = structured_setting(terms, "mlp")
    if not terms.is_full_scale:
        return whole
    return replace(
        whole,
        name="s4-mlp-240",
        data={**whole.data, "clients": 240},
        run={**whole.run, "rounds": ROUNDS, "evaluate_every": 1},
        minutes=10.0,
    )


def read(found: ItemRuns) -> Outcome:
    """The final groups of three methods, and ours."""
    setting = found.settings[0]
    federation = experiment_from({"data": setting.data, "run": {"seed": 0}}).federation()
    assert federation.truth is not None
    clients = federation.clients
    order = [one for part in federation.truth.members for one in part]
    truth = label_links(federation.truth.labels, clients)
    lines, series = [], {}
    for label in (
        each for each in ("FLT", TEN_GROUPS, "FedSEM", "PCA+kM+HC", OURS) if each in found.labels(setting.name)
    ):
        run = found.runs(setting.name, label)[0]
        links = label_links(run.models().row_by_client, clients)
        inside, across = pair_shares(links, truth)
        series[label] = picture(links, clients, order)
        seen = found.metric(setting.name, label, "ari")
        lines.append(ResultLine(row=label, column="ARI", printed=None, ours=seen.mean, deviation=seen.deviation))
        lines.append(ResultLine(row=label, column="% of pairs of a group together", printed=None, ours=100 * inside))
        lines.append(ResultLine(row=label, column="% of other pairs together", printed=None, ours=100 * across))
    flt, sem, pca = (found.metric(setting.name, label, "ari").mean for label in ("FLT", "FedSEM", "PCA+kM+HC"))
    return Outcome(
        tuple(lines),
        (
            ari_claim(found, setting.name, "FLT", 0.9, "FLT finds the ten groups almost perfectly (ARI 0.9)"),
            *(
                ari_claim(found, setting.name, label, 0.9, "so does FLT by class moments", main=False)
                for label in class_moments_labels(found, setting.name)
            ),
            Claim("FedSEM's groups are far from them", sem < 0.7, f"ARI {sem:.3f}"),
            Claim("so are those of PCA+kM+HC", pca < 0.7, f"ARI {pca:.3f}", main=False),
            Claim("FLT's are nearer than FedSEM's", flt > sem, f"ARI {flt:.3f} and {sem:.3f}", main=False),
        ),
        series,
    )


ITEM = Item(
    name="flt-figure6",
    paper=PAPER,
    title="Which of 240 clients FLT, FedSEM and PCA+kM+HC put together, in scenario 4",
    differences=DIFFERENCES + " The caption says scenario 2; the text and C = 10 say scenario 4.",
    rule=CLAIMS_RULE + " Almost perfectly: an adjusted Rand index of 0.9 or more; far: under 0.7.",
    settings=lambda terms: (setting_of(terms),),
    read=read,
)
