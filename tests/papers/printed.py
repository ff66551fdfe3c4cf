"""The papers' tables as they stand on their pages, row by row; copied from the pages, not from the code.

FLT's rows have an accuracy in percent (its standard error left out) and its variance over clients for each column.
"""

Column = dict[str, tuple[float, float]]
"""For each method an accuracy and a variance."""
Table = dict[str, Column]
"""For each data set, or net, a column."""

DATA_SETS, NETS = ("mnist", "cifar10"), ("mlp", "leaf_cnn")

# (M, rho, E): FedSEM, FLT (Enc1), FLT (Enc2) with T = 50, then with T = 100; accuracies only.
TABLE_5 = """
    100, 0.2, 1 | 64.32 66.23 65.93 69.33 72.44 72.62
    100, 0.2, 5 | 71.85 79.45 78.64 73.42 79.95 79.62
    100, 0.5, 1 | 72.94 73.78 73.17 77.37 79.30 78.23
    100, 0.5, 5 | 74.29 80.02 79.22 74.15 79.72 79.45
    500, 0.2, 1 | 64.88 66.69 66.74 70.65 72.55 72.84
    500, 0.2, 5 | 71.24 80.27 79.77 73.21 81.77 81.00
    500, 0.5, 1 | 72.26 73.80 73.88 76.82 79.66 79.01
    500, 0.5, 5 | 76.79 81.97 81.08 76.75 81.57 81.22
"""
# Tables 7 to 10: train and test of the first column, train and test of the second.
TABLE_7 = """
    FedAvg     | 82.50 43.19 82.73 44.65 35.08 152.54 33.29 108.20
    Local      | 99.25 0.60 97.41 3.44 99.87 0.80 79.81 115.35
    PCA+kM+HC  | 83.65 49.2 83.82 41.13 78.07 589.65 75.35 589.6
    FedSEM     | 97.94 2.58 98.01 2.12 83.43 725.99 78.23 695.01
    FLT (Enc1) | 97.96 2.50 97.98 2.17 93.52 36.21 87.11 88.80
    FLT (Enc2) | 97.95 2.50 97.97 2.17 93.51 39.42 87.17 84.62
"""
TABLE_8 = """
    FedAvg     | 85.62 20.57 86.08 17.55 55.87 14.18 52.77 19.18
    Local      | 99.17 0.36 96.58 1.81 100.0 0.0 70.44 72.29
    PCA+kM+HC  | 85.27 19.09 85.45 18.40 68.75 398.82 61.75 312.22
    FedSEM     | 94.26 1.27 94.14 1.20 84.30 426.27 73.26 339.39
    FLT (Enc1) | 97.54 0.93 97.37 1.07 95.01 124.07 79.97 146.84
    FLT (Enc2) | 97.52 0.93 97.37 1.07 94.87 24.07 80.00 78.66
"""
TABLE_9 = """
    FedAvg    | 74.43 100 72.76 202.61 82.96 81.28 81.64 147.03
    PCA+kM+HC | 75.77 111.44 71.94 194.75 83.99 89.92 80.07 160.32
    IFCA      | 61.57 48.70 61.24 176.38 84.03 35.64 81.47 118.71
    FedSEM    | 77.03 100.18 72.45 185.96 86.57 56.83 79.99 156.27
    FLT       | 76.43 81.13 74.11 171.31 84.93 56.22 82.14 15.03
    FLT (C=2) | 75.23 96.79 72.83 175.55 83.15 78.27 80.53 150.26
    FLT (C=3) | 75.73 101.14 72.61 184.59 83.88 74.82 79.72 170.10
    FLT (C=5) | 77.24 82.09 72.05 180.32 85.49 63.87 78.71 169.22
"""
TABLE_10 = """
    FedAvg    | 45.48 281.95 46.50 100.27 56.19 908.67 53.58 883.47
    PCA+kM+HC | 72.66 770.84 48.75 467.92 62.92 863.94 59.87 912.39
    FedSEM    | 45.19 508.13 43.53 406.60 79.45 1295.72 76.22 1264.38
    FLT       | 91.23 155.36 86.51 207.60 97.95 6.59 93.69 98.65
"""
# ABC's table 1: FedAvg and ABC with N=10 K=2, with N=50 K=2, with N=50 K=10. inf: "Not Converged".
ABC_TABLE_1 = """
    EMNIST 2C-1  | inf 967 2980 738 1725 1363
    EMNIST 2C-2  | 3413 804 2036 1015 1191 1086
    EMNIST 5C    | 834 522 1516 1297 865 731
    FMNIST 2C-1  | 1606 468 2718 887 1134 600
    FMNIST 2C-2  | 913 344 1151 776 932 580
    FMNIST 5C    | 2474 804 inf 1697 703 501
    CIFAR10 2C-1 | inf 3908 inf 3419 4708 3058
    CIFAR10 2C-2 | inf 4986 inf 3666 4195 3712
    CIFAR10 5C   | inf 4997 inf 4993 3225 2204
    FMNIST* 2C-1 | 1606 523 1516 689 1134 600
    FMNIST* 2C-2 | 913 397 2718 820 932 580
    FMNIST* 5C   | 2474 2109 1151 1406 703 501
"""


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
