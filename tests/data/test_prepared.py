"""Rows become inputs by a preparation, each row by itself; and a stored preparation is not believed."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.core import InputError
from fedclade.core.preparation import (
    CategoryInput,
    MissingInput,
    NumberInput,
    Preparation,
    TableInput,
    WordInput,
    read_preparation,
)
from fedclade.core.task import Task
from fedclade.data.prepared import apply_preparation, numbers_of, words_of
from fedclade.data.raw_table import RawColumn
from preparation.frames import raw_table


def inputs(columns: dict[str, Any], *wanted: TableInput, **choices: Any) -> list[Any]:
    found: list[Any] = apply_preparation(Preparation(inputs=wanted), raw_table(columns, **choices)).tolist()
    return found


def dates(values: list[Any], part: Any) -> list[float]:
    column = raw_table({"d": values}).columns["d"]
    assert column.kind == "date"
    found: list[float] = numbers_of(column, "date", part).tolist()
    return found


def number(**changes: Any) -> NumberInput:
    return NumberInput(
        **{"column": "x", "low": -10.0, "high": 10.0, "fill": 4.0, "centre": 1.0, "scale": 2.0, **changes}
    )


def test_numbers_are_cut_off_filled_moved_and_scaled() -> None:
    """(3 - 1) / 2; 100 counts as 10: 4.5; -100 as -10: -5.5; empty as 4: 1.5."""
    assert inputs({"x": [3, 100, -100, None]}, number()) == [[1], [4.5], [-5.5], [1.5]]


def test_truth_values_are_1_and_0() -> None:
    plain = number(of="boolean", low=0.0, high=1.0, fill=0.25, centre=0.0, scale=1.0)
    assert inputs({"x": [True, False, None]}, plain) == [[1], [0], [0.25]]
    assert inputs({"x": [1, 0, 1]}, plain) == [[1], [0], [1]]  # a client that wrote them as numbers


def test_a_category_is_1_in_its_place() -> None:
    city = CategoryInput(column="c", categories=("Oslo", "Rome"), other=True)
    columns = {"c": ["Rome", "Oslo", "Bonn", None, ""]}
    assert inputs(columns, city) == [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert inputs(columns, CategoryInput(column="c", categories=("Oslo", "Rome"), other=False))[2] == [0, 0]


def test_categories_that_look_like_numbers() -> None:
    code = CategoryInput(column="c", categories=("1", "2.5"), other=False)
    assert inputs({"c": [1.0, 2.5]}, code) == [[1, 0], [0, 1]]
    assert inputs({"c": ["1", "2.5"]}, code, categorical=("c",)) == [[1, 0], [0, 1]]


def test_words_and_gaps() -> None:
    words = WordInput(column="t", words=("pump", "valve", "élan"))
    columns = {"t": ["The PUMP-valve.", "valve, valve!", None, "Élan"]}
    assert inputs(columns, words, MissingInput(column="t")) == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]


def test_words_are_runs_of_letters_and_digits() -> None:
    assert [*words_of("It's 20°C; RPM2 über-all_ok")] == ["it", "s", "20", "c", "rpm2", "über", "all", "ok"]
    assert [*words_of("x" * 100)] == ["x" * 40]
    assert [*words_of("")] == []


def test_a_column_that_is_not_there_is_empty() -> None:
    wanted = (number(), CategoryInput(column="c", categories=("a",), other=True), MissingInput(column="c"))
    assert inputs({"y": [1, 2]}, *wanted) == [[1.5, 0, 0, 1]] * 2


def test_numbers_that_a_client_wrote_as_text() -> None:
    assert inputs({"x": ["1.5", "n/a", "-3", "inf", "nan"]}, number(centre=0.0, scale=1.0)) == [
        [1.5], [4], [-3], [4], [4]
    ]  # fmt: skip


def test_truth_values_and_dates_that_a_client_wrote_as_text() -> None:
    """1 and 0 as where all are truth values; 2024-07-01 is month 7."""
    plain = number(centre=0.0, scale=1.0)
    assert inputs({"x": ["True", "2", "?", "false"]}, plain) == [[1], [2], [4], [0]]
    month = number(of="date", part="month", fill=0.0, centre=0.0, scale=1.0)
    assert inputs({"x": ["2024-07-01", "3.12.2024", "7", "?", "1/2/2024"]}, month) == [[7], [10], [0], [0], [0]]


def test_a_product_code_is_no_number() -> None:
    assert inputs({"x": ["1_1", "x", "3"]}, number(centre=0.0, scale=1.0)) == [[4], [4], [3]]


def test_a_column_of_another_kind_is_empty() -> None:
    assert inputs({"x": list(pd.date_range("2024-01-01", periods=2))}, number()) == [[1.5], [1.5]]
    assert inputs({"x": [1.0, 2.0]}, number(of="date", part="year")) == [[1.5], [1.5]]


@pytest.mark.parametrize(
    ("date", "part", "wanted"),
    [
        ("2024-01-01", "year", 2024),
        ("2024-07-01", "year", 2024 + 182 / 366),  # 31 + 29 + 31 + 30 + 31 + 30 days of a leap year
        ("2023-07-01", "year", 2023 + 181 / 365),
        ("1900-03-01", "year", 1900 + 59 / 365),  # 1900 was no leap year, 2000 was one
        ("2000-03-01", "year", 2000 + 60 / 366),
        ("1969-12-31", "year", 1969 + 364 / 365),
        ("2024-02-29 12:00:00", "year", 2024 + 59.5 / 366),
        ("0001-01-01", "year", 1),
        ("2024-02-29", "month", 2),
        ("1969-12-31", "month", 12),
        ("2024-02-29", "weekday", 3),  # a Thursday; Monday is 0
        ("1970-01-01", "weekday", 3),
        ("1969-12-28", "weekday", 6),
        ("2024-02-29 23:59:59", "hour", 23),
        ("1969-12-31 01:30:00", "hour", 1),
        ("29.02.2024", "month", 2),
        ("31.12.2023 17:45", "hour", 17),
        ("2024-03-31T01:30:00+02:00", "hour", 23),  # times with a zone are those of Greenwich
        ("2024-03-31T01:30:00+02:00", "weekday", 5),
    ],
)
def test_parts_of_dates(date: str, part: str, wanted: float) -> None:
    (found,) = dates([date], part)
    assert found == pytest.approx(wanted, abs=1e-9)


@given(st.datetimes(pd.Timestamp("1700-01-01").to_pydatetime(), pd.Timestamp("2200-01-01").to_pydatetime()))
def test_parts_of_dates_are_those_of_python(date: Any) -> None:
    assert dates([pd.Timestamp(date)], "month") == [date.month]
    assert dates([pd.Timestamp(date)], "weekday") == [date.weekday()]
    assert dates([pd.Timestamp(date)], "hour") == [date.hour]


def test_an_empty_date_has_no_parts() -> None:
    for part in ("year", "month", "weekday", "hour"):
        assert np.isnan(dates(["2024-01-01", None], part)[1])


def test_a_zone_of_a_frame_is_that_of_greenwich() -> None:
    times = pd.Series(pd.to_datetime(["2024-06-01 01:00"]).tz_localize("Europe/Oslo"))
    assert dates(list(times), "hour") == [23]


@given(st.permutations(range(6)))
def test_a_row_has_the_same_inputs_beside_any_others(order: list[int]) -> None:
    columns: dict[str, list[Any]] = {
        "x": [1.5, None, 3, 4, 5, 6],
        "c": ["a", "b", None, "a", "z", "b"],
        "t": ["u v", "v", None, "w", "u", ""],
    }
    wanted = (
        *(number(), CategoryInput(column="c", categories=("a", "b"), other=True), MissingInput(column="c")),
        WordInput(column="t", words=("u", "v")),
    )
    whole = inputs(columns, *wanted)
    some = order[:3]
    alone = {name: [values[row] for row in some] for name, values in columns.items()}
    assert inputs(alone, *wanted) == [whole[row] for row in some]


def test_no_rows_are_no_error() -> None:
    table = raw_table({"x": [1.0]}).rows(np.zeros(0, np.int64))
    assert apply_preparation(Preparation(inputs=(number(),)), table).shape == (0, 1)


FITTED = Preparation(
    inputs=(
        *(number(), number(column="d", of="date", part="year", low=1999.5, high=2030.0)),
        *(CategoryInput(column="c", categories=("å", '"'), other=True), WordInput(column="t", words=("u",))),
        MissingInput(column="c"),
    ),
    task=Task(count=2, names=("no", "yes")),
    client="site",
    label="fault",
    left_out={"id": "an id"},
    warnings=("a sentence",),
)


def test_a_preparation_is_read_as_it_was_stored() -> None:
    assert read_preparation(json.loads(FITTED.to_json()), "file") == FITTED
    assert FITTED.names == ("x", "d (year)", "c: å", 'c: "', "c: other", "t has 'u'", "c is empty")
    assert FITTED.shown_as_numbers == (True, True, False, False, False, False, False)
    assert FITTED.columns == ("x", "d", "c", "t")


def broken(change: Callable[[Any], object]) -> object:
    table = json.loads(FITTED.to_json())
    changed = change(table)
    return table if changed is None else changed


@pytest.mark.parametrize(
    "change",
    [
        lambda _: [],
        lambda _: "text",
        lambda table: table.clear(),
        lambda table: table.update(inputs=[]),
        lambda table: table.update(inputs={"kind": "number"}),
        lambda table: table.update(more=1),
        lambda table: table.update(class_names=[1]),
        lambda table: table.update(left_out={"x": 3}),
        lambda table: table["inputs"][0].update(scale=0.0),
        lambda table: table["inputs"][0].update(scale=float("nan")),
        lambda table: table["inputs"][0].update(low=float("-inf")),
        lambda table: table["inputs"][0].update(fill="3"),
        lambda table: table["inputs"][0].update(kind="picture"),
        lambda table: table["inputs"][0].update(kind=["number"]),
        lambda table: table["inputs"][0].update(of="__class__"),
        lambda table: table["inputs"][0].update(part="second"),
        lambda table: table["inputs"][0].update(code="import os"),
        lambda table: table["inputs"][0].pop("column"),
        lambda table: table["inputs"][0].update(column="x" * 10_001),
        lambda table: table["inputs"][2].update(categories=["a"] * 10_001),
        lambda table: table["inputs"][2].update(other="yes"),
        lambda table: table["inputs"].extend([{"kind": "words", "column": "t", "words": ["w"] * 10_000}] * 2),
        lambda table: table["inputs"].append(None),
        lambda table: table["inputs"].append(7),
    ],
)
def test_a_hostile_preparation_is_refused(change: Callable[[Any], object]) -> None:
    with pytest.raises(InputError):
        read_preparation(broken(change), "file")


def test_a_column_of_many_texts_is_read_by_those_that_its_rows_have() -> None:
    """Rows of one client of a pool know the texts of all clients: numbers are of its own."""
    column = RawColumn("text", np.array([2.0, np.nan, 0.0]), ("5", "x", "7.5"))
    assert numbers_of(column, "number", "").tolist()[::2] == [7.5, 5]
