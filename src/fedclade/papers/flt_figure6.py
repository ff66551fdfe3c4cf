"""FLT, figures 6 and 7 share runs: scenario 4 with 240 clients, who is grouped with whom."""

from dataclasses import replace

from fedclade.papers.accuracy import ari_claim
from fedclade.papers.flt import OURS, PAPER, TEN, ours_in, structured
from fedclade.papers.flt_table4 import DIFFERS
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Line, Outcome, Setting, Terms
from fedclade.papers.matrices import blocks_of, pair_shares, picture, together
from fedclade.papers.verdicts import CLAIMS_RULE
from fedclade.runs.experiment import experiment_from

ROUNDS = 50


def setting_of(terms: Terms) -> Setting:
    """That of table 4 with 240 clients; at small scale it has 240 anyway."""
    whole = structured(terms, "mlp")
    if not terms.whole:
        return whole
    return replace(
        whole,
        name="s4-mlp-240",
        data={**whole.data, "clients": 240},
        run={**whole.run, "rounds": ROUNDS, "evaluate_every": 1},
        minutes=10.0,
    )


def read(found: Found) -> Outcome:
    """The final groups of three methods, and ours."""
    setting = found.settings[0]
    federation = experiment_from({"data": setting.data, "run": {"seed": 0}}).federation()
    assert federation.truth is not None
    clients = federation.clients
    order = [one for part in federation.truth.members for one in part]
    truth = together(federation.truth, clients)
    lines, series = [], {}
    for label in (each for each in ("FLT", TEN, "FedSEM", "PCA+kM+HC", OURS) if each in found.labels(setting.name)):
        run = found.runs(setting.name, label)[0]
        links = blocks_of(run.models().home, clients)
        inside, across = pair_shares(links, truth)
        series[label] = picture(links, clients, order)
        seen = found.figure(setting.name, label, "ari")
        lines.append(Line(row=label, column="ARI", printed=None, ours=seen.mean, deviation=seen.deviation))
        lines.append(Line(row=label, column="% of pairs of a group together", printed=None, ours=100 * inside))
        lines.append(Line(row=label, column="% of other pairs together", printed=None, ours=100 * across))
    flt, sem, pca = (found.figure(setting.name, label, "ari").mean for label in ("FLT", "FedSEM", "PCA+kM+HC"))
    return Outcome(
        tuple(lines),
        (
            ari_claim(found, setting.name, "FLT", 0.9, "FLT finds the ten groups almost perfectly (ARI 0.9)"),
            *(
                ari_claim(found, setting.name, label, 0.9, "so does FLT by class moments", main=False)
                for label in ours_in(found, setting.name)
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
    differs=DIFFERS + " The caption says scenario 2; the text and C = 10 say scenario 4.",
    rule=CLAIMS_RULE + " Almost perfectly: an adjusted Rand index of 0.9 or more; far: under 0.7.",
    settings=lambda terms: (setting_of(terms),),
    read=read,
)
