"""FLT, table 10: scenario 4 once more, with the accuracy on what clients trained on."""

from fedclade_papers.accuracy import table_of
from fedclade_papers.flt import PAPER, structured_setting
from fedclade_papers.flt_table4 import DIFFERENCES, PRINTED_TABLE
from fedclade_papers.item import Item
from fedclade_papers.verdicts import ACCURACY_RULE

PRINTED_TRAIN = {
    "mlp": {
        "FedAvg": (45.48, 281.95),
        "PCA+kM+HC": (72.66, 770.84),
        "FedSEM": (45.19, 508.13),
        "FLT": (91.23, 155.36),
    },
    "leaf_cnn": {
        "FedAvg": (56.19, 908.67),
        "PCA+kM+HC": (62.92, 863.94),
        "FedSEM": (79.45, 1295.72),
        "FLT": (97.95, 6.59),
    },
}


ITEM = Item(
    name="flt-table10",
    paper=PAPER,
    title="Training and test accuracy in scenario 4",
    differences=DIFFERENCES,
    rule=ACCURACY_RULE,
    settings=lambda terms: (structured_setting(terms, "mlp"), structured_setting(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=lambda found: table_of(found, 4, PRINTED_TABLE, trained=PRINTED_TRAIN),
)
