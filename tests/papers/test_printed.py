"""Printed numbers that results are compared with are the papers': whole tables, none left out, none beside them.

Those of FLT's tables 1 to 5 are checked where the tables are read.
"""

from importlib import import_module

import pytest

from fedclade_papers.abc_table1 import PRINTED as ABC_PRINTED
from papers import printed
from papers.printed import DATA_SETS, NETS, halves, rows

PRINTED: list[tuple[str, str, object]] = [
    ("flt_table1", "PRINTED_TRAIN", halves(printed.TABLE_7, DATA_SETS)[0]),
    ("flt_table2", "PRINTED_TRAIN", halves(printed.TABLE_8, DATA_SETS)[0]),
    ("flt_table3", "PRINTED_TRAIN", halves(printed.TABLE_9, NETS)[0]),
    ("flt_table4", "PRINTED_TRAIN", halves(printed.TABLE_10, NETS)[0]),
    ("flt_table5", "METHODS", ("FedSEM", "FLT (Enc1)", "FLT (Enc2)")),
    ("flt_figure5", "ROUNDS", 20),  # "in roughly 20 communication rounds"
    ("flt_figure7", "STUCK_ROUND", 15),  # FedSEM "gets stuck at comm. round 15"
    ("cfl_figure6", "SUFFICIENT_POINTS", {"mnist": 20, "cifar10": 500}),  # section V-A
    ("cfl_figure7", "ROUNDS", 10),  # on both
    ("cfl_figure9", "PRINTED", {"FedAvg": 20, "CFL": 60}),  # "around 20%", "close to 60%"
    ("cfl_figure9", "SPLITS", 3),  # in rounds 50, 100 and 150
    ("cfl_figure10", "PRINTED", {"FedAvg": 42, "CFL": 36}),  # section V-C
    ("abc", "SESSIONS", ((10, 2), (50, 2), (50, 10))),  # the order of the columns of its table 1
    ("abc", "TARGETS", {"CIFAR10": 45, "EMNIST": 75, "FMNIST": 70}),  # percent
]


@pytest.mark.parametrize(("module", "name", "page"), PRINTED)
def test_a_number_is_the_papers(module: str, name: str, page: object) -> None:
    assert getattr(import_module(f"fedclade_papers.{module}"), name) == page


def test_the_pages_are_read_as_they_are_set() -> None:
    """Table 7's row of Local: train and test on MNIST, train and test on CIFAR-10."""
    train, test = halves(printed.TABLE_7, DATA_SETS)
    found = [half[name]["Local"] for name in DATA_SETS for half in (train, test)]
    assert found == [(99.25, 0.60), (97.41, 3.44), (99.87, 0.80), (79.81, 115.35)]


def test_abc_table_1() -> None:
    """FedAvg and ABC in three sessions."""
    mixes = {(data, mix): pairs for data, by_mix in ABC_PRINTED.items() for mix, pairs in by_mix.items()}
    sessions = {f"{data} {mix}": [number for pair in pairs for number in pair] for (data, mix), pairs in mixes.items()}
    assert sessions == rows(printed.ABC_TABLE_1)
