"""FLT, figure 4: convergence in scenario 3."""

from fedclade_papers.curves import curves_of, fastest_claim
from fedclade_papers.flt import PAPER, writers_setting
from fedclade_papers.flt_table3 import DIFFERENCES, MISSING, NAMES
from fedclade_papers.item import Item, Outcome
from fedclade_papers.run_results import ItemRuns


def read(found: ItemRuns) -> Outcome:
    """The curves of table 3's runs."""
    here = [net for net in NAMES if found.has(f"s3-{net}")]
    series = {name: curve for net in here for name, curve in curves_of(found, f"s3-{net}", NAMES[net]).items()}
    said = [fastest_claim(found, f"s3-{net}", "FLT", f"{NAMES[net]}FLT is the fastest") for net in here]
    return Outcome(claims=tuple(said), series=series)


ITEM = Item(
    name="flt-figure4",
    paper=PAPER,
    title="Test accuracy against rounds in scenario 3, writers",
    differences=DIFFERENCES,
    missing=MISSING,
    rule="Fastest: nobody else comes as soon to 95 % of FLT's final accuracy.",
    settings=lambda terms: (writers_setting(terms, "mlp"), writers_setting(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
