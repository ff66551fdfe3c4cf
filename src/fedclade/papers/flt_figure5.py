"""FLT, figure 5: convergence in scenario 4."""

from fedclade.papers.curves import NEARLY, curves_of, fastest, rounds_to
from fedclade.papers.flt import PAPER, ours_in, structured
from fedclade.papers.flt_table4 import DIFFERS, NAMES
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Line, Outcome
from fedclade.papers.verdicts import CLAIMS_RULE

ROUNDS = 20.0  # "converge already in roughly 20 communication rounds" (section 4.6)


def read(found: Found) -> Outcome:
    """The curves of table 4's runs."""
    here = [net for net in NAMES if found.has(f"s4-{net}")]
    series = {name: curve for net in here for name, curve in curves_of(found, f"s4-{net}", NAMES[net]).items()}
    said = [
        fastest(found, f"s4-{net}", label, f"{NAMES[net]}{label} is the fastest", main=label == "FLT")
        for net in here
        for label in ("FLT", *ours_in(found, f"s4-{net}"))
    ]
    lines = []
    for net in here:
        for label in ("FLT", *ours_in(found, f"s4-{net}")):
            curve = found.curve(f"s4-{net}", label)
            lines.append(
                Line(
                    row=label,
                    column=f"{NAMES[net]}rounds to 95 % of its final accuracy",
                    printed=ROUNDS if label == "FLT" else None,
                    ours=rounds_to(curve, NEARLY * curve["y"][-1]),
                    tolerance=ROUNDS / 2,
                    aside=not found.terms.whole,  # it has hardly more rounds than that
                )
            )
    return Outcome(tuple(lines), tuple(said), series)


ITEM = Item(
    name="flt-figure5",
    paper=PAPER,
    title="Test accuracy against rounds in scenario 4",
    differs=DIFFERS + " Small scale has 30 rounds (MLP) and 12 (CNN).",
    rule=CLAIMS_RULE
    + " Fastest: nobody else comes as soon to 95 % of FLT's final accuracy. Converged: 95 % of the final "
    "accuracy; reproduced within ten rounds of the printed twenty, which does not count at small scale.",
    settings=lambda terms: (structured(terms, "mlp"), structured(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
