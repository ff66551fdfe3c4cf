"""FLT, figure 7: how FedSEM's groups change with the rounds."""

from fedclade.papers.flt import PAPER
from fedclade.papers.flt_figure6 import setting_of
from fedclade.papers.flt_table4 import DIFFERS
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Outcome
from fedclade.papers.verdicts import CLAIMS_RULE

STUCK = 15  # "gets stuck at comm. round 15"


def read(found: Found) -> Outcome:
    """The agreement of FedSEM's groups with the planted ones, after every round."""
    name = found.settings[0].name
    curve = found.curve(name, "FedSEM", "ari", 1.0)
    moved = [(number, int(str(facts["moved"]))) for number, facts in found.facts(name, "FedSEM")]
    before = sum(count for number, count in moved if number <= STUCK)
    after = sum(count for number, count in moved if number > STUCK)
    return Outcome(
        claims=(
            Claim(
                "FedSEM does not come to the ten groups (ARI under 0.9)",
                curve["y"][-1] < 0.9,
                f"ARI {curve['y'][-1]:.3f} in round {curve['x'][-1]:.0f}",
            ),
            Claim(
                f"groups form up to round {STUCK} and are stuck then: clients change theirs before, and hardly after",
                before > 10 * after,
                f"{before} times up to round {STUCK}, {after} times after it",
                main=False,
            ),
        ),
        series={"FedSEM": curve},
        notes=(
            "Our FedSEM leaves clients that have not trained out of its k-means, and has everybody train once before "
            "models are first evaluated; the authors of FLT cluster untrained models too, so that groups change for "
            "long.",
        ),
    )


ITEM = Item(
    name="flt-figure7",
    paper=PAPER,
    title="FedSEM's groups against the planted ones, round by round, in scenario 4 with 240 clients",
    differs=DIFFERS + " The figure shows matrices; here it is their agreement with the planted groups.",
    rule=CLAIMS_RULE,
    settings=lambda terms: (setting_of(terms),),
    read=read,
)
