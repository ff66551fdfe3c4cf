"""Columns of a table as they were written: what each holds, and the value of every cell."""

import datetime as dt
from decimal import Decimal
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.data.cell_numbers import float_or_nan
from fedclade.data.frames import arrow_table
from fedclade.data.raw_table import RawColumn, read_column, read_raw_table, text_column

DAY = 86400.0
DAY_OF_2024 = 19723 * DAY  # 54 years of 365 days and 13 days of leap years behind 1970


def read(values: object, **options: bool) -> RawColumn:
    """The only column of a table."""
    return read_column(arrow_table({"x": values}, "mine").column("x"), **options)


def cells(column: RawColumn) -> list[str | None]:
    """The cells of a column of text."""
    assert column.kind == "text"
    return [column.texts[code] if code >= 0 else None for code in column.codes()]


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        ([1, None, 3], "number", [1, nan, 3]),
        ([1.5, float("nan")], "number", [1.5, nan]),
        (np.array([1, 2], ">f8"), "number", [1, 2]),
        (np.array([1, 2], np.float16), "number", [1, 2]),
        (np.array([1, 2], np.longdouble), "number", [1, 2]),
        ([Decimal("1.50"), None], "number", [1.5, nan]),
        (pa.array([Decimal("1.50")], pa.decimal32(5, 2)), "number", [1.5]),
        ([2**70, 1], "number", [2.0**70, 1]),
        (["1", "2.5", "-1e3", "", " ", None], "number", [1, 2.5, -1000, nan, nan, nan]),
        (["1", "2.5", "1"], "number", [1, 2.5, 1]),
        (pa.array(["1", "2.5", "1"]).dictionary_encode(), "number", [1, 2.5, 1]),
        (pa.array([3, 4, 3]).dictionary_encode(), "number", [3, 4, 3]),
        (pc.run_end_encode(pa.array([3, 3, 4])), "number", [3, 3, 4]),
        ([dt.timedelta(hours=1), dt.timedelta(milliseconds=5)], "number", [3600, 0.005]),
        ([True, None, False], "boolean", [1, nan, 0]),
        (["TRUE", "false", ""], "boolean", [1, 0, nan]),
        ([dt.date(2024, 1, 1), None], "date", [DAY_OF_2024, nan]),
        (pa.array([dt.date(2024, 1, 2)], pa.date64()), "date", [DAY_OF_2024 + DAY]),
        ([dt.datetime(2024, 1, 1, 1)], "date", [DAY_OF_2024 + 3600]),
        (pd.Series([pd.Timestamp("2024-01-01 02:00", tz="Europe/Berlin")]), "date", [DAY_OF_2024 + 3600]),
        (np.array(["2024", "1970"], "M8[Y]"), "date", [DAY_OF_2024, 0]),
        (pa.array([2**61]).cast(pa.timestamp("s")), "date", [2.0**61]),
        (pd.period_range("2024-01-01", periods=2), "date", [DAY_OF_2024, DAY_OF_2024 + DAY]),
        (["2024-01-01", "2024-01-02"], "date", [DAY_OF_2024, DAY_OF_2024 + DAY]),
        (["2024-01-01", "2024-01-01 00:00:01.5"], "date", [DAY_OF_2024, DAY_OF_2024 + 1.5]),
        (["2024-01-01T02:00:00+02:00", "2024-01-01T00:00:00Z"], "date", [DAY_OF_2024, DAY_OF_2024]),
        (["1.1.2024", "02.01.2024"], "date", [DAY_OF_2024, DAY_OF_2024 + DAY]),
        (["01.01.2024 10:30", "01.01.2024 00:01"], "date", [DAY_OF_2024 + 37800, DAY_OF_2024 + 60]),
        (["1/2/2024", "1/31/2024"], "date", [DAY_OF_2024 + DAY, DAY_OF_2024 + 30 * DAY]),
        (["2/1/2024", "31/1/2024"], "date", [DAY_OF_2024 + DAY, DAY_OF_2024 + 30 * DAY]),
        (["01.01.24", "31.12.23"], "date", [DAY_OF_2024, DAY_OF_2024 - DAY]),
        (["1/31/24", "12/31/23"], "date", [DAY_OF_2024 + 30 * DAY, DAY_OF_2024 - DAY]),
        (["31-Dec-23", "01-Jan-2024"], "date", [DAY_OF_2024 - DAY, DAY_OF_2024]),
        (["31Dec2023", "1jan2024"], "date", [DAY_OF_2024 - DAY, DAY_OF_2024]),
        (["3 January 2024", "1 Jan 2024"], "date", [DAY_OF_2024 + 2 * DAY, DAY_OF_2024]),
        (["January 3, 2024", "Jan 1 2024"], "date", [DAY_OF_2024 + 2 * DAY, DAY_OF_2024]),
        (["Wed 03 Jan 2024", "Monday, January 1, 2024"], "date", [DAY_OF_2024 + 2 * DAY, DAY_OF_2024]),
        (["2024-02", "2024-01"], "date", [DAY_OF_2024 + 31 * DAY, DAY_OF_2024]),
        (["01/31/2024 02:15 PM", "01/01/2024 12:00 am"], "date", [DAY_OF_2024 + 30 * DAY + 51300, DAY_OF_2024]),
        (["2024-01-01", "01.01.2024 10:30"], "date", [DAY_OF_2024, DAY_OF_2024 + 37800]),
        (["10:30", "00:00:05.5"], "date", [37800, 5.5]),
        (["12,345.67", "-1,234,567", "998.5"], "number", [12345.67, -1234567, 998.5]),
        (["12,345", "998"], "number", [12345, 998]),
        (["1'234", "5", "1'234.5"], "number", [1234, 5, 1234.5]),
        ([None, None], "empty", [nan, nan]),
        (["", " "], "empty", [nan, nan]),
    ],
)
def test_numbers_truth_values_and_dates(values: object, kind: str, numbers: list[float]) -> None:
    column = read(values)
    assert column.kind == kind
    np.testing.assert_array_equal(column.values, numbers)


def test_dates_in_two_orders_have_both_readings() -> None:
    """The second of January, or the first of February."""
    column = read(["1/2/2024", "3/3/2024", ""])
    assert (column.kind, column.order) == ("date", "")
    third_of_march = DAY_OF_2024 + 62 * DAY
    np.testing.assert_array_equal(column.dates("day"), [DAY_OF_2024 + 31 * DAY, third_of_march, nan])
    np.testing.assert_array_equal(column.dates("month"), [DAY_OF_2024 + DAY, third_of_march, nan])
    assert read(["3/3/2024", "12-12-2024"]).month_first is None
    assert [read([text]).order for text in ("31/1/2024", "1/31/2024")] == ["day", "month"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (["a", "", None, " ", "b", "a"], ["a", None, None, None, "b", "a"]),
        (["[low]", "[0-5]"], ["[low]", "[0-5]"]),
        (["[1, 2]", "none"], ["[1, 2]", "none"]),
        (["01", "2"], ["01", "2"]),  # a code, and no number
        (["1_1", "12_3"], ["1_1", "12_3"]),  # Python would read 11 and 123
        (["1", "١٢"], ["1", "١٢"]),
        (["1", "-inf"], ["1", "-inf"]),  # words, as `nan` is one
        (["1", "nan", "infinity"], ["1", "nan", "infinity"]),
        (["1", "1e999"], ["1", "1e999"]),
        (["1", "2,5"], ["1", "2,5"]),
        (["0,123", "12,345"], ["0,123", "12,345"]),  # no thousands
        (["1,234", "1'234"], ["1,234", "1'234"]),
        (["31.12.2024", "soon"], ["31.12.2024", "soon"]),
        (["31/12/2024", "12/31/2024"], ["31/12/2024", "12/31/2024"]),  # in no order
        (["31/02/2024"], ["31/02/2024"]),  # there is no such day
        (["29.02.2023"], ["29.02.2023"]),
        ([1, "a", 2.0, 2.5, None, True], ["1", "a", "2", "2.5", None, "True"]),
        (pd.Series(["a", pd.NA, pd.NaT, np.nan, 1], dtype=object), ["a", None, None, None, "1"]),
        (pd.Series(["\ud800"], dtype=object), ["\\ud800"]),
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2]), ["(0, 1]", "(1, 2]"]),
        (pa.DictionaryArray.from_arrays([0, 1, 2, None], ["a", "b", "a", "c"]), ["a", "b", "a", None]),
    ],
)
def test_texts(values: object, texts: list[str | None]) -> None:
    column = read(values)
    assert cells(column) == texts
    assert set(column.texts) == set(texts) - {None}


def test_dictionaries_of_several_chunks_are_one() -> None:
    chunks = [pa.DictionaryArray.from_arrays([0, 1], ["a", "b"]), pa.DictionaryArray.from_arrays([1, 0], ["b", "c"])]
    assert cells(read_column(pa.chunked_array(chunks))) == ["a", "b", "c", "b"]


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([[1], [2]], "holds lists"),
        (np.zeros((2, 3)), "holds lists"),
        ([{"a": 1}], "holds tables"),
        (["[1, 2, 3]", None, "[]"], "holds lists"),
        (["[0.123]", "[0.1 -2\n 3e5 ]"], "holds lists"),
        (["['a', 'b']", "[1]"], "holds lists"),
        (["{'a': 1}", "{}"], "holds tables"),
        ([b"ab"], "holds bytes"),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "holds values of type month_day_nano_interval"),
        ([1.0, float("inf")], "is infinite in row 2"),
    ],
)
def test_columns_that_cannot_be_used_say_why(values: object, fault: str) -> None:
    column = read(values)
    assert (column.kind, column.fault) == ("unusable", fault)
    assert column.empty.all()


def test_the_kind_may_be_chosen() -> None:
    options: dict[str, Any] = {"text": True}
    assert cells(read([1.0, 2.5, nan], **options)) == ["1", "2.5", None]
    assert cells(read(["1", "2.50"], **options)) == ["1", "2.50"]
    assert cells(read([True, False], **options)) == ["true", "false"]
    assert cells(read([dt.date(2024, 1, 1)], **options)) == ["2024-01-01"]
    np.testing.assert_array_equal(read(["01", "2", "?", ""], number=True).values, [1, 2, nan, nan])
    np.testing.assert_array_equal(read(["1_1", "2", "inf", "True"], number=True).values, [nan, 2, nan, 1])
    assert read([True, False], number=True).kind == "number"
    assert cells(text_column(read([7, 5.5, None, 7]))) == ["7", "5.5", None, "7"]
    assert cells(text_column(read([True, None]))) == ["true", None]


def test_rows_are_taken_from_all_columns() -> None:
    column = read(["a", None, "b"]).rows(np.array([2, 1]))
    assert cells(column) == ["b", None]


@given(st.text("019.+-eE_ xinfa٣", max_size=6))
def test_a_text_is_a_number_where_arrow_reads_a_finite_one(text: str) -> None:
    try:
        wanted = pc.cast(pa.array([text]), pa.float64())[0].as_py()
    except pa.ArrowInvalid:
        wanted = nan
    np.testing.assert_equal(float_or_nan(text), wanted if np.isfinite(wanted) else nan)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1.0", "2.50", None, "1"], "number"),
        (["1.0", " ", "+2"], "number"),
        (pa.array(["1.0", "2", "1.0"]).dictionary_encode(), "number"),
        (["True", None, "FALSE"], "boolean"),
        (["2024-01-01", "2024-01-02T10:00", None], "date"),
        (["1.2.2024", "", "03.04.2024"], "date"),
    ],
)
def test_what_was_written_is_kept_on_request(values: Any, kind: str) -> None:
    column = arrow_table({"x": values}, "mine").column("x")
    wanted = [cell if cell and cell.strip() else None for cell in column.to_pylist()]
    kept = read_raw_table(pa.table({"x": column}), ["x"], keep_text=True).columns["x"]
    assert kept.kind == kind
    assert cells(text_column(kept)) == wanted
    some = np.array([2, 0])
    assert cells(text_column(kept.rows(some))) == [wanted[2], wanted[0]]
    np.testing.assert_array_equal(kept.values, read(values).values)
    assert read(values).written is None


@pytest.mark.parametrize("values", [["a", "1"], [1.0, 2.0], [None, None]])
def test_nothing_is_kept_twice(values: list[object]) -> None:
    assert read(values, keep_text=True).written is None
    assert read(["1", "2"], keep_text=True, number=True).written is None
    assert read(["1", "2"], keep_text=True, text=True).written is None


def test_dates_of_a_typed_column_are_iso_text() -> None:
    times = [
        dt.datetime(2024, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 58),
        dt.datetime(2024, 2, 29, 10, 30, 0, 500),
        None,
    ]
    wanted = ["2024-01-01", "1969-12-31 23:59:58", "2024-02-29 10:30:00.000500", None]
    assert cells(text_column(read(times))) == wanted
    assert cells(read(times, text=True)) == wanted
    assert cells(text_column(read([dt.date(2024, 1, 1)]))) == ["2024-01-01"]
