"""FLT, table 10: scenario 4 once more, with the accuracy on what clients trained on."""

from fedclade.papers.accuracy import table_of
from fedclade.papers.flt import PAPER, structured
from fedclade.papers.flt_table4 import DIFFERS, TOLD
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Outcome
from fedclade.papers.verdicts import ACCURACY_RULE

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


def read(found: Found) -> Outcome:
    """Training and test accuracy, of both or of what was asked for."""
    return table_of(found, 4, TOLD, trained=PRINTED_TRAIN)


ITEM = Item(
    name="flt-table10",
    paper=PAPER,
    title="Training and test accuracy in scenario 4",
    differs=DIFFERS,
    rule=ACCURACY_RULE,
    settings=lambda terms: (structured(terms, "mlp"), structured(terms, "leaf_cnn")),
    parts=("mlp", "leaf_cnn"),
    read=read,
)
