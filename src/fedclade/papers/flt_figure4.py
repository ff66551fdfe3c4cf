"""FLT, figure 4: convergence in scenario 3."""

from fedclade.papers.curves import curves_of, fastest
from fedclade.papers.flt import PAPER, writers
from fedclade.papers.flt_table3 import DIFFERS, NAMES
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Outcome
from fedclade.papers.verdicts import CLAIMS_RULE


def read(found: Found) -> Outcome:
    """The curves of table 3's runs."""
    here = [net for net in NAMES if found.has(f"s3-{net}")]
    series = {name: curve for net in here for name, curve in curves_of(found, f"s3-{net}", NAMES[net]).items()}
    said = [fastest(found, f"s3-{net}", "FLT", f"{NAMES[net]}FLT is the fastest") for net in here]
    return Outcome(claims=tuple(said), series=series)


ITEM = Item(
    name="flt-figure4",
    paper=PAPER,
    title="Test accuracy against rounds in scenario 3, writers",
    differs=DIFFERS,
    rule=CLAIMS_RULE + " Fastest: nobody else comes as soon to 95 % of FLT's final accuracy.",
    settings=lambda terms: (writers(terms, "mlp"), writers(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
