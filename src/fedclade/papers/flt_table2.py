"""FLT, table 2: scenario 2, five groups of three classes each; neighbours share one."""

from functools import partial

from fedclade.papers.accuracy import Told, table_of
from fedclade.papers.flt import PAPER, scenario
from fedclade.papers.flt_table1 import DIFFERS as SCENARIO_1
from fedclade.papers.flt_table1 import NAMES, claims
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Outcome
from fedclade.papers.verdicts import ACCURACY_RULE

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
DIFFERS = SCENARIO_1 + " Neighbours have one half of a shared class each; the authors give both the same images."
CONSTANT = 2 * 100.0 / 3 / 5  # percent: a shared class is one of three in two groups of five
TOLD = Told("FLT (Enc1)", NAMES, PRINTED, partial(claims, printed=PRINTED, constant=CONSTANT), CONSTANT)


def read(found: Found) -> Outcome:
    """Both data sets, or the one that was asked for."""
    return table_of(found, 2, TOLD)


ITEM = Item(
    name="flt-table2",
    paper=PAPER,
    title="Test accuracy in scenario 2: five groups with three classes each, neighbours share one",
    differs=DIFFERS,
    rule=ACCURACY_RULE,
    settings=lambda terms: (scenario(terms, 2, "mnist"), scenario(terms, 2, "cifar10")),
    parts=("mnist", "cifar10"),
    read=read,
)
