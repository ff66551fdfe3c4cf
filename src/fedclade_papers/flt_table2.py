"""FLT, table 2: scenario 2, five groups of three classes each; neighbours share one."""

from functools import partial

from fedclade_papers.accuracy import PrintedTable, table_of
from fedclade_papers.flt import PAPER, scenario_setting
from fedclade_papers.flt_table1 import DIFFERENCES as DIFFERENCES_1
from fedclade_papers.flt_table1 import NAMES, claims
from fedclade_papers.item import Item
from fedclade_papers.verdicts import ACCURACY_RULE

PRINTED = {
    "mnist": {
        "FedAvg": (86.08, 17.55),
        "Local": (96.58, 1.81),
        "PCA+kM+HC": (85.45, 18.42),
        "FedSEM": (94.14, 1.20),
        "FLT (Enc1)": (97.37, 1.07),
        "FLT (Enc2)": (97.37, 1.07),
    },
    "cifar10": {
        "FedAvg": (52.77, 19.18),
        "Local": (70.44, 72.29),
        "PCA+kM+HC": (61.75, 312.22),
        "FedSEM": (73.26, 339.39),
        "FLT (Enc1)": (79.971, 146.84),
        "FLT (Enc2)": (80.00, 78.66),
    },
}
DIFFERENCES = DIFFERENCES_1 + " Neighbours have one half of a shared class each; the authors give both the same images."
CONSTANT = 2 * 100.0 / 3 / 5  # percent: a shared class is one of three in two groups of five
PRINTED_TABLE = PrintedTable(
    "FLT (Enc1)", NAMES, PRINTED, partial(claims, printed=PRINTED, constant=CONSTANT), CONSTANT
)


ITEM = Item(
    name="flt-table2",
    paper=PAPER,
    title="Test accuracy in scenario 2: five groups with three classes each, neighbours share one",
    differences=DIFFERENCES,
    rule=ACCURACY_RULE,
    settings=lambda terms: (scenario_setting(terms, 2, "mnist"), scenario_setting(terms, 2, "cifar10")),
    parts=("mnist", "cifar10"),
    read=lambda found: table_of(found, 2, PRINTED_TABLE),
)
