"""FLT, figure 12: what a given number of disjoint groups costs in scenario 3."""

from itertools import pairwise

from fedclade.papers.flt import PAPER, writers
from fedclade.papers.flt_table3 import DIFFERS, NAMES
from fedclade.papers.found import Found
from fedclade.papers.item import Claim, Item, Outcome
from fedclade.papers.verdicts import CLAIMS_RULE, EQUAL

LABELS = ("FLT", "FLT (C=2)", "FLT (C=3)", "FLT (C=5)")


def read(found: Found) -> Outcome:
    """The curves of FLT and its variants."""
    series, said = {}, []
    for net in (each for each in NAMES if found.has(f"s3-{each}")):
        series.update({f"{NAMES[net]}{label}": found.curve(f"s3-{net}", label) for label in LABELS})
        ends = [found.accuracy(f"s3-{net}", label).mean for label in LABELS]
        told = ", ".join(f"{label} {end:.1f} %" for label, end in zip(LABELS, ends, strict=True))
        said.append(
            Claim(
                f"{NAMES[net]}disjoint groups are no better than the whole graph (within half a point)",
                all(end <= ends[0] + EQUAL for end in ends[1:]),
                told,
            )
        )
        said.append(
            Claim(
                f"{NAMES[net]}the more groups, the lower the accuracy (within half a point)",
                all(later <= sooner + EQUAL for sooner, later in pairwise(ends)),
                told,
                main=False,
            )
        )
    return Outcome(claims=tuple(said), series=series)


ITEM = Item(
    name="flt-figure12",
    paper=PAPER,
    title="FLT with the whole graph and with 2, 3 and 5 disjoint groups, in scenario 3",
    differs=DIFFERS,
    rule=CLAIMS_RULE,
    settings=lambda terms: (writers(terms, "mlp"), writers(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
