"""Every printed number that a result is compared with is the paper's: whole tables, none left out, none beside them."""

from collections.abc import Mapping

import pytest

from fedclade.papers import (
    abc,
    abc_table1,
    cfl_figure6,
    cfl_figure7,
    cfl_figure9,
    cfl_figure10,
    flt_figure5,
    flt_figure7,
    flt_table1,
    flt_table2,
    flt_table3,
    flt_table4,
    flt_table5,
    flt_table7,
    flt_table8,
    flt_table9,
    flt_table10,
)
from papers import printed
from papers.printed import DATA_SETS, NETS, columns, rows

FLT: list[tuple[str, Mapping[str, Mapping[str, tuple[float, float]]], printed.Table]] = [
    # Tables 7 and 10 repeat the test columns of 1 and 4.
    ("1", flt_table1.PRINTED, columns(printed.TABLE_1, DATA_SETS)),
    ("2", flt_table2.PRINTED, columns(printed.TABLE_2, DATA_SETS)),
    ("3", flt_table3.PRINTED, columns(printed.TABLE_3, NETS)),
    ("4", flt_table4.PRINTED, columns(printed.TABLE_4, NETS)),
    ("7 train", flt_table7.PRINTED_TRAIN, columns(printed.TABLE_7, DATA_SETS, train=True)),
    ("7 test", flt_table1.PRINTED, columns(printed.TABLE_7, DATA_SETS, train=False)),
    ("8 train", flt_table8.PRINTED_TRAIN, columns(printed.TABLE_8, DATA_SETS, train=True)),
    ("8 test", flt_table8.PRINTED, columns(printed.TABLE_8, DATA_SETS, train=False)),
    ("9 train", flt_table9.PRINTED_TRAIN, columns(printed.TABLE_9, NETS, train=True)),
    ("9 test", flt_table9.PRINTED, columns(printed.TABLE_9, NETS, train=False)),
    ("10 train", flt_table10.PRINTED_TRAIN, columns(printed.TABLE_10, NETS, train=True)),
    ("10 test", flt_table4.PRINTED, columns(printed.TABLE_10, NETS, train=False)),
]


@pytest.mark.parametrize(("held", "page"), [each[1:] for each in FLT], ids=[each[0] for each in FLT])
def test_flt(held: Mapping[str, Mapping[str, tuple[float, float]]], page: printed.Table) -> None:
    assert {name: dict(column) for name, column in held.items()} == page


def test_the_pages_are_read_as_they_are_set() -> None:
    """Table 7's row of Local: train and test on MNIST, train and test on CIFAR-10."""
    assert columns(printed.TABLE_7, DATA_SETS, train=True)["mnist"]["Local"] == (99.25, 0.60)
    assert columns(printed.TABLE_7, DATA_SETS, train=False)["mnist"]["Local"] == (97.41, 3.44)
    assert columns(printed.TABLE_7, DATA_SETS, train=True)["cifar10"]["Local"] == (99.87, 0.80)
    assert columns(printed.TABLE_7, DATA_SETS, train=False)["cifar10"]["Local"] == (79.81, 115.35)
    assert columns(printed.TABLE_1, DATA_SETS)["cifar10"]["Local"] == (79.81, 115.35)
    assert [len(columns(table, NETS)["mlp"]) for table in (printed.TABLE_3, printed.TABLE_4)] == [9, 4]


def test_flt_table_5() -> None:
    """Eight blocks; in each the accuracies after 50 and after 100 rounds."""
    page: dict[tuple[int, float, int], dict[int, tuple[float, ...]]] = {}
    for name, numbers in rows(printed.TABLE_5).items():
        clients, share, epochs, rounds = name.split(", ")
        page.setdefault((int(clients), float(share), int(epochs)), {})[int(rounds)] = tuple(numbers)
    assert len(page) == 8
    assert flt_table5.METHODS == ("FedSEM", "FLT (Enc1)", "FLT (Enc2)")
    assert {key: {50: half, 100: end} for key, (half, end) in flt_table5.PRINTED.items()} == page


def test_abc_table_1() -> None:
    assert abc.SESSIONS == ((10, 2), (50, 2), (50, 10))  # the order of the page's columns
    held = {
        f"{data} {mix}": [number for pair in pairs for number in pair]
        for data, mixes in abc_table1.PRINTED.items()
        for mix, pairs in mixes.items()
    }
    assert held == rows(printed.ABC_TABLE_1)


def test_abc_targets() -> None:
    """45% for CIFAR10, 75% for EMNIST, and 70% for FMNIST."""
    assert abc.TARGETS == {"CIFAR10": 45, "EMNIST": 75, "FMNIST": 70}


def test_what_cfl_says_in_its_text() -> None:
    """20 data points suffice on MNIST, around 500 on CIFAR; ten rounds on both (section V-A).

    Permuted labels: around 20% and close to 60%, splits in rounds 50, 100 and 150. AG-News: below 36, and 42 by one
    model (section V-C).
    """
    assert cfl_figure6.ENOUGH == {"mnist": 20, "cifar10": 500}
    assert cfl_figure7.ROUNDS == 10
    assert cfl_figure9.PRINTED == {"FedAvg": 20, "CFL": 60}
    assert cfl_figure9.SPLITS == 3
    assert cfl_figure10.PRINTED == {"FedAvg": 42, "CFL": 36}


def test_what_flt_says_of_its_figures() -> None:
    """Roughly 20 communication rounds in figure 5; FedSEM gets stuck at round 15 in figure 7."""
    assert flt_figure5.ROUNDS == 20
    assert flt_figure7.STUCK == 15
