"""FLT, figure 7: how FedSEM's groups change with the rounds."""

from fedclade_papers.flt import PAPER
from fedclade_papers.flt_figure6 import setting_of
from fedclade_papers.flt_table4 import DIFFERENCES
from fedclade_papers.item import Claim, Item, Outcome
from fedclade_papers.run_results import ItemRuns

STUCK_ROUND = 15  # "gets stuck at comm. round 15"


def read(found: ItemRuns) -> Outcome:
    """The agreement of FedSEM's groups with the planted ones, after every round."""
    name = found.settings[0].name
    curve = found.curve(name, "FedSEM", "ari", 1.0)
    setting = found.setting(name)
    round_facts = [fact for seed in range(setting.seeds) for fact in found.facts(name, "FedSEM", seed)]
    before = sum(int(str(facts["moved"])) for number, facts in round_facts if number <= STUCK_ROUND)
    after = sum(int(str(facts["moved"])) for number, facts in round_facts if number > STUCK_ROUND)
    clients = int(str(setting.data["clients"])) * setting.seeds
    return Outcome(
        claims=(
            Claim(
                "FedSEM does not come to the ten groups (ARI under 0.9)",
                curve["y"][-1] < 0.9,
                f"ARI {curve['y'][-1]:.3f} in round {curve['x'][-1]:.0f}",
            ),
            Claim(
                f"groups form up to round {STUCK_ROUND}, a tenth of the clients change theirs, and are stuck then",
                before >= clients / 10 and before > 10 * after,
                f"{clients} clients changed {before} times up to round {STUCK_ROUND}, {after} times after it",
                main=False,
            ),
        ),
        series={"FedSEM": curve},
        notes=(
            "By the text FedSEM leaves clients that have not trained out of its k-means, and has everybody train once "
            "before models are first evaluated; by the authors' code it clusters untrained models too.",
        ),
    )


ITEM = Item(
    name="flt-figure7",
    paper=PAPER,
    title="FedSEM's groups against the planted ones, round by round, in scenario 4 with 240 clients",
    differences=DIFFERENCES
    + " By the code FedSEM clusters all clients in every round, also those that have never trained. The figure shows "
    "matrices; here it is their agreement with the planted groups.",
    settings=lambda terms: (setting_of(terms),),
    read=read,
)
