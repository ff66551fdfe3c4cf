"""What a client tells of one column: counted by hand, and by pandas."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.data.column_sums import clipped_sums, column_flags, count_below, count_known, frequent_names
from fedclade.data.raw_table import RawColumn
from preparation.frames import raw_table

NAN = float("nan")


def column(values: Sequence[object]) -> RawColumn:
    return raw_table({"c": values}).columns["c"]


@pytest.mark.parametrize(
    ("values", "kind", "filled", "different", "flags"),
    [
        # unique, monotone, whole, years
        ([1, 2, 5], "number", 3, 3, (True, True, True, False)),
        ([5, 2, 1], "number", 3, 3, (True, True, True, False)),
        ([5, 1, 2], "number", 3, 3, (True, False, True, False)),
        ([1, None, 4, 7, None], "number", 3, 3, (True, True, True, False)),
        ([9, 4, 4], "number", 3, 2, (False, False, True, False)),
        ([None, 1, 4, 7, None, None, None], "number", 3, 3, (False, False, True, False)),  # most cells are empty
        ([*range(30), 20, *range(31, 50)], "number", 50, 49, (False, True, True, False)),  # one is there twice
        ([*range(20), *range(20)], "number", 40, 20, (False, False, True, False)),
        ([9, 4], "number", 2, 2, (True, False, True, False)),  # two numbers always rise or fall
        ([1, 2, 2], "number", 3, 2, (False, False, True, False)),
        ([1, 2, None], "number", 2, 2, (True, False, True, False)),
        ([1.5, 2, 3], "number", 3, 3, (True, False, False, False)),
        ([1900, 2100], "number", 2, 2, (True, False, True, True)),
        ([1899, 2000], "number", 2, 2, (True, False, True, False)),
        ([True, False, True], "boolean", 3, 2, (False, False, False, False)),
        (["a", "b", "c"], "text", 3, 3, (True, False, False, False)),
        (["a", "", "a"], "text", 2, 1, (False, False, False, False)),
        ([None, None], "empty", 0, 0, (False, False, False, False)),
        (["2024-01-01", "2024-01-01"], "date", 2, 1, (False, False, False, False)),
        (["1", "2", "x"], "numbers and text", 3, 3, (True, False, True, False)),
        (["1", "2", "inf"], "numbers and text", 3, 3, (True, False, True, False)),
        (["1_1", "1_2", "12_3"], "text", 3, 3, (True, False, False, False)),
        (["01.02.2024", "1.3.2024", "?"], "dates and text", 3, 3, (True, False, False, False)),
        (["1.5", "2", "x"], "numbers and text", 3, 3, (True, False, False, False)),
        (["01", "2", "3"], "text", 3, 3, (True, False, False, False)),
        (["x", "y", "3"], "text", 3, 3, (True, False, False, False)),
        (["2024-01-01", "2024-01-02 10:00", "?"], "dates and text", 3, 3, (True, False, False, False)),
    ],
)
def test_flags(
    values: list[object], kind: str, filled: int, different: int, flags: tuple[bool, bool, bool, bool]
) -> None:
    found = column_flags(column(values))
    assert (found.kind, found.filled, found.different) == (kind, filled, different)
    if filled:
        assert (found.is_unique, found.is_monotone, found.is_whole, found.has_years) == flags


def test_a_client_speaks_of_its_own_cells() -> None:
    """One `n/a` somewhere makes the whole file's column text; this client's rows are numbers that rise."""
    whole = column(["n/a", "3", "4", "10"])
    assert column_flags(whole).kind == "numbers and text"
    own = column_flags(whole.rows(np.array([1, 2, 3])))
    assert (own.kind, own.is_whole, own.is_monotone, own.different) == ("number", True, True, 3)


@pytest.mark.parametrize(
    "cells", [["1.0", "1", "2"], ["True", "false", "True"], ["2024-01-01", "2024-01-02", "2024-01-02"], ["x", "y", "y"]]
)
def test_a_client_says_the_same_of_cells_in_a_file_of_its_own(cells: list[str]) -> None:
    among_others = column([*cells, "XL", "three long words"]).rows(np.arange(3))
    assert column_flags(among_others) == column_flags(column(cells))


def test_words_in_the_mean() -> None:
    assert column_flags(column(["one two", "one", None, "a b c"])).words == 2  # (2 + 1 + 3) / 3


def test_counts_between_thresholds_hold_their_upper_end() -> None:
    values, labels = np.array([0.0, 1.0, 1.5, 2.0, 9.0, NAN]), np.array([0, 0, 1, 1, 0, 0])
    assert count_below(values, [1.0, 2.0], labels, 2).tolist() == [[2, 0], [0, 2], [1, 0]]
    assert count_below(values, [], labels, 2).tolist() == [[3, 2]]


@given(st.lists(st.integers(-5, 5)), st.sets(st.integers(-6, 6), min_size=1))
def test_counts_are_those_of_pandas(values: list[int], thresholds: set[int]) -> None:
    edges = sorted(thresholds)
    found = count_below(np.array(values, np.float64), edges, np.zeros(len(values), np.int64), 1)[:, 0]
    wanted = pd.cut(pd.Series(values, dtype=float), [-np.inf, *edges, np.inf]).value_counts(sort=False)
    assert found.tolist() == wanted.tolist()


def test_sums_are_of_numbers_that_are_cut_off() -> None:
    """-5 counts as 0, 100 as 10: less 2 these are -2, 1 and 8."""
    assert clipped_sums(np.array([-5.0, 3.0, NAN, 100.0]), 0, 10, 2) == (3, 7.0, 69.0)
    assert clipped_sums(np.array([NAN]), 0, 10, 2) == (0, 0.0, 0.0)


def test_known_names_are_counted_by_label() -> None:
    cities = column(["Oslo", "Rome", "Oslo", None, "Bonn"])
    assert count_known(cities, ["Oslo", "Lima"], np.array([0, 0, 1, 1, 1]), 2).tolist() == [[1, 1], [0, 0], [1, 1]]


def test_empty_cells_are_counted_on_request() -> None:
    for values in (["a", None, "b", ""], [1.5, None, 2.5, None]):
        found = count_known(column(values), ["", "a"], np.array([0, 0, 1, 1]), 2).tolist()
        assert found == [[1, 1], [1, 0], [0, 1]] if values[0] == "a" else [[1, 1], [0, 0], [1, 1]]
        assert count_known(column(values), [""], np.array([0, 0, 1, 1]), 2).tolist() == [[1, 1], [1, 1]]


def test_numbers_as_categories_have_names_without_a_point() -> None:
    assert count_known(column([1.0, 2.5, 1.0]), ["1", "2.5"], np.zeros(3, np.int64), 1).tolist() == [[2], [1], [0]]
    assert count_known(column([True, False]), ["true"], np.zeros(2, np.int64), 1).tolist() == [[1], [1]]


def test_a_name_is_told_where_five_rows_have_it() -> None:
    names = ["five"] * 5 + ["four"] * 4 + ["six"] * 6 + [None]
    assert frequent_names(column(names), words=False) == {"six": 6, "five": 5}


def test_of_equally_frequent_names_the_order_is_that_of_the_alphabet() -> None:
    assert [*frequent_names(column([*"zab"] * 5), words=False)] == ["a", "b", "z"]


def test_a_word_counts_once_in_a_row() -> None:
    texts = ["red red red", "Red", "green", "RED!", "red-green", "green", "red", "green green"]
    assert frequent_names(column([*texts]), words=True) == {"red": 5}


def test_a_client_tells_a_thousand_names_at_the_most() -> None:
    names = [f"n{number:04}" for number in range(1200)] * 5
    assert len(frequent_names(column([*names]), words=False)) == 1000
