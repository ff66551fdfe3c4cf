"""FLT, table 7: scenario 1 once more, with the accuracy on what clients trained on."""

from fedclade_papers.accuracy import table_of
from fedclade_papers.flt import PAPER, scenario_setting
from fedclade_papers.flt_table1 import DIFFERENCES, PRINTED_TABLE
from fedclade_papers.item import Item
from fedclade_papers.verdicts import ACCURACY_RULE

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


ITEM = Item(
    name="flt-table7",
    paper=PAPER,
    title="Training and test accuracy in scenario 1",
    differences=DIFFERENCES,
    rule=ACCURACY_RULE,
    settings=lambda terms: (scenario_setting(terms, 1, "mnist"), scenario_setting(terms, 1, "cifar10")),
    parts=("mnist", "cifar10"),
    read=lambda found: table_of(found, 1, PRINTED_TABLE, trained=PRINTED_TRAIN),
)
