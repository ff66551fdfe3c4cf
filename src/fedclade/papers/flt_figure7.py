"""FLT, figure 7: how FedSEM's groups change with the rounds."""

from dataclasses import replace

from fedclade.papers.flt import PAPER
from fedclade.papers.flt_figure6 import setting_of
from fedclade.papers.flt_table4 import DIFFERS
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Outcome, Setting, Terms
from fedclade.papers.verdicts import CLAIMS_RULE

STUCK = 15  # "gets stuck at comm. round 15"


def settings(terms: Terms) -> tuple[Setting, ...]:
    """FedSEM of figure 6, where clients are placed when they first train, not all of them in the first round."""
    whole = setting_of(terms)
    return (
        replace(
            whole,
            name="s4-mlp-joining",
            run={**whole.run, "evaluate_every": 1},
            methods={"FedSEM": {**whole.methods["FedSEM"], "all_join": False}},
            minutes=2.0 if terms.whole else 0.6,
        ),
    )


def read(found: Found) -> Outcome:
    """The agreement of FedSEM's groups with the planted ones, after every round."""
    name = found.settings[0].name
    curve = found.curve(name, "FedSEM", "ari", 1.0)
    then = [y for x, y in zip(curve["x"], curve["y"], strict=True) if x >= STUCK] or curve["y"][-1:]
    before, gain = then[0] - curve["y"][0], curve["y"][-1] - then[0]
    return Outcome(
        claims=(
            Claim(
                "FedSEM does not come to the ten groups (ARI under 0.9)",
                curve["y"][-1] < 0.9,
                f"ARI {curve['y'][-1]:.3f} in round {curve['x'][-1]:.0f}",
            ),
            Claim(
                "its groups form up to round 15, and improve no more then (ARI by over 0.05, and by less)",
                before > 0.05 > gain,
                f"{before:+.3f} up to round {STUCK}, {gain:+.3f} after it",
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
    differs=DIFFERS
    + " The figure shows matrices; here it is their agreement with the planted groups, those who have not trained yet "
    "with the largest one.",
    rule=CLAIMS_RULE,
    settings=settings,
    read=read,
)
