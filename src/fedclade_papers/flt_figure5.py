"""FLT, figure 5: convergence in scenario 4."""

from fedclade_papers.curves import CONVERGED_SHARE, curves_of, fastest_claim, rounds_to
from fedclade_papers.flt import PAPER, class_moments_labels, structured_setting
from fedclade_papers.flt_table4 import DIFFERENCES, NAMES
from fedclade_papers.item import Item, Outcome, ResultLine
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.verdicts import CLAIMS_RULE

ROUNDS = 20.0  # "converge already in roughly 20 communication rounds" (section 4.6)


def read(found: ItemRuns) -> Outcome:
    """The curves of table 4's runs."""
    here = [net for net in NAMES if found.has(f"s4-{net}")]
    series = {name: curve for net in here for name, curve in curves_of(found, f"s4-{net}", NAMES[net]).items()}
    said = [
        fastest_claim(found, f"s4-{net}", label, f"{NAMES[net]}{label} is the fastest", main=label == "FLT")
        for net in here
        for label in ("FLT", *class_moments_labels(found, f"s4-{net}"))
    ]
    lines = []
    for net in here:
        for label in ("FLT", *class_moments_labels(found, f"s4-{net}")):
            curve = found.curve(f"s4-{net}", label)
            lines.append(
                ResultLine(
                    row=label,
                    column=f"{NAMES[net]}rounds to 95 % of its final accuracy",
                    printed=ROUNDS if label == "FLT" else None,
                    ours=rounds_to(curve, CONVERGED_SHARE * curve["y"][-1]),
                    tolerance=ROUNDS / 2,
                    is_excluded=not found.terms.is_full_scale,  # it has hardly more rounds than that
                )
            )
    return Outcome(tuple(lines), tuple(said), series)


ITEM = Item(
    name="flt-figure5",
    paper=PAPER,
    title="Test accuracy against rounds in scenario 4",
    differences=DIFFERENCES + " Small scale has 30 rounds (MLP) and 12 (CNN).",
    rule=CLAIMS_RULE
    + " Fastest: nobody else comes as soon to 95 % of FLT's final accuracy. Converged: 95 % of the final "
    "accuracy; reproduced within ten rounds of the printed twenty, which does not count at small scale.",
    settings=lambda terms: (structured_setting(terms, "mlp"), structured_setting(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
