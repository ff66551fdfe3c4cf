"""FLT, figure 7: how FedSEM's groups change with the rounds."""

from fedclade.papers.flt import PAPER
from fedclade.papers.flt_figure6 import setting_of
from fedclade.papers.flt_table4 import DIFFERS
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Outcome
from fedclade.papers.verdicts import CLAIMS_RULE

STUCK = 15  # "gets stuck at comm. round 15"


def read(found: Found) -> Outcome:
    """The agreement of FedSEM's groups with the planted ones, after every evaluated round."""
    name = found.settings[0].name
    curve = found.curve(name, "FedSEM", "ari", 1.0)
    then = [y for x, y in zip(curve["x"], curve["y"], strict=True) if x >= STUCK] or curve["y"][-1:]
    gain = curve["y"][-1] - then[0]
    return Outcome(
        claims=(
            Claim(
                "FedSEM does not come to the ten groups (ARI under 0.9)",
                curve["y"][-1] < 0.9,
                f"ARI {curve['y'][-1]:.3f} in round {curve['x'][-1]:.0f}",
            ),
            Claim(
                "beyond round 15 nothing improves (ARI by less than 0.05)",
                gain < 0.05,
                f"{gain:+.3f} after round {STUCK}",
                main=False,
            ),
        ),
        series={"FedSEM": curve},
        notes=(
            "Our FedSEM leaves clients that have not trained out of its k-means; the authors of FLT cluster them too.",
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
