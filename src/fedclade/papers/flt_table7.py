"""FLT, table 7: scenario 1 once more, with the accuracy on what clients trained on."""

from fedclade.papers.accuracy import table_of
from fedclade.papers.flt import PAPER, scenario
from fedclade.papers.flt_table1 import DIFFERS, TOLD
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Outcome
from fedclade.papers.verdicts import ACCURACY_RULE

PRINTED_TRAIN = {
    "mnist": {
        "FedAvg": (82.5, 43.19),
        "Local": (99.25, 0.6),
        "PCA+kM+HC": (83.65, 49.2),
        "FedSEM": (97.94, 2.58),
        "FLT (Enc1)": (97.96, 2.5),
        "FLT (Enc2)": (97.95, 2.5),
    },
    "cifar10": {
        "FedAvg": (35.08, 152.54),
        "Local": (99.87, 0.8),
        "PCA+kM+HC": (78.07, 589.65),
        "FedSEM": (83.43, 725.99),
        "FLT (Enc1)": (93.52, 36.21),
        "FLT (Enc2)": (93.51, 39.42),
    },
}


def read(found: Found) -> Outcome:
    """Training and test accuracy, of both or of what was asked for."""
    return table_of(found, 1, TOLD, trained=PRINTED_TRAIN)


ITEM = Item(
    name="flt-table7",
    paper=PAPER,
    title="Training and test accuracy in scenario 1",
    differs=DIFFERS,
    rule=ACCURACY_RULE,
    settings=lambda terms: (scenario(terms, 1, "mnist"), scenario(terms, 1, "cifar10")),
    parts=("mnist", "cifar10"),
    read=read,
)
