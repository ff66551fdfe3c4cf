"""The papers' tables as they stand on their pages, row by row; copied from the pages, not from the code.

FLT's rows have an accuracy in percent (its standard error left out) and its variance over clients for each column.
"""

import tomllib
from pathlib import Path

Column = dict[str, tuple[float, float]]
"""For each method an accuracy and a variance."""
Table = dict[str, Column]
"""For each data set, or net, a column."""

DATA_SETS, NETS = ("mnist", "cifar10"), ("mlp", "leaf_cnn")

TABLES = tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))
TABLE_5, TABLE_7, TABLE_8, TABLE_9, TABLE_10 = (str(TABLES[f"TABLE_{number}"]) for number in (5, 7, 8, 9, 10))
ABC_TABLE_1 = str(TABLES["ABC_TABLE_1"])


def rows(table: str) -> dict[str, list[float]]:
    """The numbers of each row, by what stands before the bar."""
    cells = [line.split("|") for line in table.strip().splitlines()]
    return {name.strip(): [float(number) for number in numbers.split()] for name, numbers in cells}


def halves(table: str, names: tuple[str, str]) -> tuple[Table, Table]:
    """The training and the test half of tables 7 to 10, by data set or net."""

    def column(place: int) -> Column:
        return {method: (numbers[place], numbers[place + 1]) for method, numbers in rows(table).items()}

    first, second = names
    return {first: column(0), second: column(4)}, {first: column(2), second: column(6)}


TABLE_1, TABLE_4 = halves(TABLE_7, DATA_SETS)[1], halves(TABLE_10, NETS)[1]
# Tables 2 and 3 are the test halves of tables 8 and 9 but for a digit in three numbers, and CFL.
TABLE_2, TABLE_3 = halves(TABLE_8, DATA_SETS)[1], halves(TABLE_9, NETS)[1]
TABLE_2["mnist"]["PCA+kM+HC"], TABLE_2["cifar10"]["FLT (Enc1)"] = (85.45, 18.42), (79.971, 146.84)
TABLE_3["mlp"]["CFL"], TABLE_3["leaf_cnn"]["CFL"] = (65.35, 180.23), (76.68, 132.42)
TABLE_3["leaf_cnn"]["FLT"] = (82.14, 145.03)
