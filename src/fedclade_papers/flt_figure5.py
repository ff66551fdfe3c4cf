"""FLT, figure 5: convergence in scenario 4."""

from fedclade_papers.curves import CONVERGED_SHARE, curves_of, fastest_claim, round_text, rounds_to
from fedclade_papers.flt import PAPER, class_moments_labels, structured_setting
from fedclade_papers.flt_table4 import DIFFERENCES, FEDSEM, NAMES
from fedclade_papers.item import Claim, Item, Outcome, ResultLine
from fedclade_papers.run_results import ItemRuns

ROUNDS = 20.0  # "converge already in roughly 20 communication rounds" (section 4.6)


def read(found: ItemRuns) -> Outcome:
    """The curves of table 4's runs."""
    series, said, lines = {}, [], []
    for net, name in ((net, name) for net, name in NAMES.items() if found.has(f"s4-{net}")):
        setting = f"s4-{net}"
        series.update(curves_of(found, setting, name))
        converged = {}
        for label in ("FLT", *class_moments_labels(found, setting)):
            curve = found.curve(setting, label)
            converged[label] = rounds_to(curve, CONVERGED_SHARE * curve["y"][-1])
            lines.append(
                ResultLine(
                    row=label,
                    column=f"{name}rounds to 95 % of its final accuracy",
                    printed=ROUNDS if label == "FLT" else None,
                    ours=converged[label],
                )
            )
            is_paper = label == "FLT"
            said.append(
                fastest_claim(found, setting, label, f"{name}{label} is the fastest", main=is_paper, by_paper=is_paper)
            )
        said.append(
            Claim(
                f"{name}FLT converges in roughly {ROUNDS:.0f} rounds (within ten)",
                abs(converged["FLT"] - ROUNDS) <= ROUNDS / 2,
                f"95 % of its final accuracy in {round_text(converged['FLT'])}",
            )
        )
    return Outcome(tuple(lines), tuple(said), series)


ITEM = Item(
    name="flt-figure5",
    paper=PAPER,
    title="Test accuracy against rounds in scenario 4",
    differences=DIFFERENCES + FEDSEM + " Small scale has 30 rounds (MLP) and 12 (CNN).",
    rule=(
        "Fastest: nobody else comes as soon to 95 % of FLT's final accuracy. Converged: 95 % of its own final "
        "accuracy. Accuracy is measured every ten rounds: 20 means 11 to 20."
    ),
    settings=lambda terms: (structured_setting(terms, "mlp"), structured_setting(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
