"""FLT, table 8: scenario 2 once more, with the accuracy on what clients trained on."""

from dataclasses import replace

from fedclade_papers.accuracy import table_of
from fedclade_papers.flt import PAPER, scenario_setting
from fedclade_papers.flt_table2 import DIFFERENCES, PRINTED_TABLE
from fedclade_papers.flt_table2 import PRINTED as TEST
from fedclade_papers.item import Item
from fedclade_papers.verdicts import ACCURACY_RULE

PRINTED_TRAIN = {
    "mnist": {
        "FedAvg": (85.62, 20.57),
        "Local": (99.17, 0.36),
        "PCA+kM+HC": (85.27, 19.09),
        "FedSEM": (94.26, 1.27),
        "FLT (Enc1)": (97.54, 0.93),
        "FLT (Enc2)": (97.52, 0.93),
    },
    "cifar10": {
        "FedAvg": (55.87, 14.18),
        "Local": (100.0, 0.0),
        "PCA+kM+HC": (68.75, 398.82),
        "FedSEM": (84.3, 426.27),
        "FLT (Enc1)": (95.01, 124.07),
        "FLT (Enc2)": (94.87, 24.07),
    },
}

# Table 8 repeats table 2's test columns but for two digits: 18.40 and 79.97 here, 18.42 and 79.971 there.
PRINTED = {
    "mnist": {**TEST["mnist"], "PCA+kM+HC": (85.45, 18.40)},
    "cifar10": {**TEST["cifar10"], "FLT (Enc1)": (79.97, 146.84)},
}


ITEM = Item(
    name="flt-table8",
    paper=PAPER,
    title="Training and test accuracy in scenario 2",
    differences=DIFFERENCES,
    rule=ACCURACY_RULE,
    settings=lambda terms: (scenario_setting(terms, 2, "mnist"), scenario_setting(terms, 2, "cifar10")),
    parts=("mnist", "cifar10"),
    read=lambda found: table_of(found, 2, replace(PRINTED_TABLE, printed=PRINTED), trained=PRINTED_TRAIN),
)
