"""FLT, figure 12: what a given number of disjoint groups costs in scenario 3."""

from itertools import pairwise

from fedclade_papers.flt import PAPER, writers_setting
from fedclade_papers.flt_table3 import DIFFERENCES, MISSING, NAMES
from fedclade_papers.item import Claim, Item, Outcome
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.verdicts import EQUAL_POINTS

LABELS = ("FLT", "FLT (C=2)", "FLT (C=3)", "FLT (C=5)")


def read(found: ItemRuns) -> Outcome:
    """The curves of FLT and its variants."""
    series, said = {}, []
    for net in (each for each in NAMES if found.has(f"s3-{each}")):
        series.update({f"{NAMES[net]}{label}": found.curve(f"s3-{net}", label) for label in LABELS})
        ends = [found.accuracy(f"s3-{net}", label).mean for label in LABELS]
        evidence = ", ".join(f"{label} {end:.1f} %" for label, end in zip(LABELS, ends, strict=True))
        said.append(
            Claim(
                f"{NAMES[net]}disjoint groups are no better than the whole graph (within half a point)",
                all(end <= ends[0] + EQUAL_POINTS for end in ends[1:]),
                evidence,
            )
        )
        said.append(
            Claim(
                f"{NAMES[net]}the more groups, the lower the accuracy (within half a point)",
                all(later <= sooner + EQUAL_POINTS for sooner, later in pairwise(ends)),
                evidence,
                main=False,
            )
        )
    return Outcome(claims=tuple(said), series=series)


ITEM = Item(
    name="flt-figure12",
    paper=PAPER,
    title="FLT with the whole graph and with 2, 3 and 5 disjoint groups, in scenario 3",
    differences=DIFFERENCES,
    missing=MISSING,
    settings=lambda terms: (writers_setting(terms, "mlp"), writers_setting(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
