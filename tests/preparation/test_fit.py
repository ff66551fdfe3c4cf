"""A preparation fitted through the fleet is the one of the pooled table."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.core.preparation import (
    CategoryInput,
    ColumnChoices,
    MissingInput,
    NumberInput,
    Preparation,
    WordInput,
    read_preparation,
)
from fedclade.core.problems import Problem
from fedclade.data.prepared import apply_preparation
from fedclade.fleet.tables import table_fleet
from fedclade.preparation import fit_preparation
from preparation.frames import NOW, federation_of, fit, raw_table, record, spread

ROWS = 2000
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "normal": lambda rng: rng.normal(3, 2, ROWS),
    "far from zero": lambda rng: rng.normal(1e6, 1, ROWS),
    "lognormal": lambda rng: rng.lognormal(2, 2, ROWS),
    "heavy ties": lambda rng: rng.choice([0, 0.1, 7.3], ROWS, p=[0.6, 0.3, 0.1]),
    "nearly always zero": lambda rng: rng.choice([0, 1], ROWS, p=[0.995, 0.005]) * rng.lognormal(size=ROWS),
    "integers": lambda rng: rng.poisson(40, ROWS).astype(np.float64),
    "two peaks": lambda rng: np.where(rng.random(ROWS) < 0.4, rng.normal(-50, 1, ROWS), rng.normal(900, 5, ROWS)),
    "huge": lambda rng: rng.normal(size=ROWS) * 1e25,
    "tiny": lambda rng: rng.normal(size=ROWS) * 1e-20,
    "Cauchy": lambda rng: rng.standard_cauchy(ROWS),
    "with gaps": lambda rng: np.where(rng.random(ROWS) < 0.3, np.nan, rng.normal(size=ROWS)),
}


def test_large_numbers_that_stay_raw_are_noted() -> None:
    rng = np.random.default_rng(0)
    columns = {"pressure": (1e5 * rng.random(200)).tolist(), "share": rng.random(200).tolist()}
    (note,) = fit(spread(columns), prepare="none").warnings
    assert "those of 'pressure' are large" in note
    assert "--prepare standard" in note
    assert not fit(spread({"share": columns["share"]}), prepare="none").warnings
    assert not fit(spread(columns)).warnings


def the(found: Preparation, column: str, kind: type) -> Any:
    (only,) = (each for each in found.inputs if each.column == column and isinstance(each, kind))
    return only


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numbers_are_those_of_the_pooled_table(name: str) -> None:
    values = DISTRIBUTIONS[name](np.random.default_rng(2))
    there = values[~np.isnan(values)]
    found = the(fit(spread({"x": values.tolist()}, clients=7)), "x", NumberInput)
    clipped = np.clip(there, found.low, found.high)
    assert found.scale == pytest.approx(clipped.std(), rel=1e-6)
    assert found.centre == pytest.approx(clipped.mean(), rel=1e-6, abs=1e-6 * clipped.std())
    assert (there < found.fill - 1e-9 * abs(found.fill)).mean() <= 0.51
    assert (there <= found.fill + 1e-9 * abs(found.fill)).mean() >= 0.49


@pytest.mark.parametrize("name", ["normal", "lognormal", "two peaks", "integers", "huge", "tiny", "Cauchy"])
def test_bounds_are_as_far_beyond_the_outer_percents_as_these_are_apart(name: str) -> None:
    """With first and last percent f and l: low = f - (l - f), high = l + (l - f), so f = (2 low + high) / 3."""
    values = DISTRIBUTIONS[name](np.random.default_rng(2))
    found = the(fit(spread({"x": values.tolist()})), "x", NumberInput)
    first, last = (2 * found.low + found.high) / 3, (found.low + 2 * found.high) / 3
    near = 1e-9 * (last - first)
    assert np.quantile(values, 0.0) - near <= first <= np.quantile(values, 0.02) + near
    assert np.quantile(values, 0.98) - near <= last <= np.quantile(values, 1.0) + near


@given(
    st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9, width=32), st.integers(-9, 9)), min_size=40, max_size=120),
    st.integers(2, 6),
)
@settings(max_examples=40, deadline=None)
def test_any_numbers_at_any_clients_have_the_pooled_mean_and_deviation(
    values: list[float | None], clients: int
) -> None:
    rows = len(values)
    found = fit(spread({"x": [*map(float, range(rows))], "y": values}, clients), keep=("x", "y"))
    there = np.array([value for value in values if value is not None], np.float64)
    for each in found.inputs:
        if isinstance(each, NumberInput) and each.column == "y":
            clipped = np.clip(there, each.low, each.high)
            assert each.scale == pytest.approx(clipped.std(), rel=1e-6)
            assert each.centre == pytest.approx(clipped.mean(), rel=1e-6, abs=1e-6 * clipped.std())
    empty = rows - len(there)
    assert ("y is empty" in found.names) == (5 <= empty <= rows - 5)


def test_one_number_far_out_is_cut_off() -> None:
    """Beside 1 to 99 the number 10^9 would make all others alike; these have mean 50 and variance (99^2 - 1) / 12."""
    values = [*(np.arange(990) % 99 + 1.0), 1e9]
    found = the(fit(spread({"x": values})), "x", NumberInput)
    assert found.high < 250
    assert found.centre == pytest.approx(50, abs=0.3)
    assert found.scale == pytest.approx(np.sqrt(9800 / 12), abs=0.5)


def test_inputs_have_mean_0_and_deviation_1() -> None:
    columns: dict[str, list[float]] = {"x": np.random.default_rng(0).normal(5, 3, 500).tolist()}
    inputs = apply_preparation(fit(spread(columns)), raw_table(columns))
    assert inputs.dtype == np.float32
    assert inputs.mean() == pytest.approx(0, abs=1e-5)
    assert inputs.std() == pytest.approx(1, rel=1e-5)


def test_numbers_as_they_are_on_request() -> None:
    columns: dict[str, Any] = {"x": [*range(99), 10**9, None], "c": ["a", "b", "a"] * 33 + ["a", "b"]}
    found = fit(spread(columns, clients=4), prepare="none", keep=("x",))
    inputs = apply_preparation(found, raw_table(columns))
    assert found.names == ("x", "c: a", "c: b")
    assert inputs[:100, 0].tolist() == [*map(float, range(99)), 1e9]
    assert inputs[100, 0] == pytest.approx(49, abs=1)  # the middle of all values, in place of the empty cell


def test_categories_are_counted_as_pandas_counts_them() -> None:
    """A client with fewer than five of a name does not tell it, but counts it once another has told it."""
    rng = np.random.default_rng(3)
    names = rng.choice([f"n{number:02}" for number in range(60)], 3000, p=np.arange(1, 61) / 1830)
    counted = pd.Series(names).value_counts()
    found = the(fit(spread({"c": names.tolist()})), "c", CategoryInput)
    assert len(found.categories) == 32
    assert found.other
    by_site = pd.crosstab(np.arange(3000) % 10, names)
    sayable = counted[[name for name in counted.index if by_site[name].max() >= 5]]
    wanted = sorted(sayable.index, key=lambda name: (-sayable[name], name))[:32]
    assert found.categories == tuple(sorted(wanted))


def test_a_category_costs_an_input_only_where_five_rows_have_it() -> None:
    names = ["a"] * 50 + ["b"] * 50 + ["rare"] * 4
    found = the(fit(federation_of({"c": names}, ["s", "t"] * 52, [0, 1, 1, 0] * 26)), "c", CategoryInput)
    assert found.categories == ("a", "b")
    assert not found.other  # four rows are no input of their own


def test_names_of_rare_categories_are_other() -> None:
    names = ["a", "b"] * 40 + [f"rare{number}" for number in range(20)]
    found = fit(spread({"c": names}, clients=4))
    assert found.names == ("c: a", "c: b", "c: other")


def test_an_empty_cell_has_an_input_of_its_own() -> None:
    values = [*np.arange(90) / 7.0, *[None] * 10]
    found = fit(spread({"x": values, "y": [*np.arange(98) / 3.0, None, None]}))
    assert found.names == ("x", "x is empty", "y")  # two rows are too few for an input
    inputs = apply_preparation(found, raw_table({"x": [1.0, None], "y": [1.0, None]}))
    assert inputs[:, 1].tolist() == [0, 1]
    assert the(found, "x", NumberInput).fill == pytest.approx(np.median(np.arange(90) / 7.0), abs=0.2)


def test_constant_columns_are_left_out_and_named() -> None:
    rows = 100
    columns: dict[str, list[object]] = {
        **{"x": (np.arange(rows) % 7 / 3).tolist(), "one": [1] * rows, "pi": [3.14159] * rows, "yes": [True] * rows},
        **{"name": ["same"] * rows, "day": [pd.Timestamp("2024-02-29")] * rows, "nothing": [None] * rows},
    }
    found = fit(spread(columns))
    assert found.names == ("x",)
    assert found.left_out == {
        **dict.fromkeys(["one", "pi", "yes", "name", "day"], "the same in every row"),
        "nothing": "empty in every row",
    }


@pytest.mark.parametrize("usual", [5, 5.3, "five"])
def test_what_differs_in_a_few_rows_only_is_left_out(usual: object) -> None:
    """Nothing is learned from four rows of 500, and they must not become numbers of 10 deviations."""
    other = {5: 10**9, 5.3: 1e9}.get(usual, "six") if isinstance(usual, int | float) else "six"
    columns = {"x": (np.arange(500) % 7 / 3).tolist(), "c": [usual] * 496 + [other] * 4}
    assert fit(spread(columns, clients=50)).left_out == {"c": "the same in all rows but 4 or fewer"}


def test_a_client_that_falls_silent_is_no_error() -> None:
    """The later half of the trips is answered by nine clients of ten: what is fitted stays near."""
    federation = spread(MIXED)
    whole = fit(federation)
    fleet, recorder = record(federation)
    recorder.silent_after, recorder.silent = 40, "s004"
    found = fit(federation, fleet)
    assert found.names == whole.names
    for one, two in zip(found.inputs, whole.inputs, strict=True):
        if isinstance(one, NumberInput) and isinstance(two, NumberInput):
            assert abs(one.centre - two.centre) < 0.2 * two.scale
            assert one.scale == pytest.approx(two.scale, rel=0.2)


def test_nothing_left_is_an_error_that_says_why() -> None:
    with pytest.raises(InputError, match="no column can be used") as raised:
        fit(spread({"one": [1] * 30, "index": list(range(30))}))
    assert "'one': the same in every row" in str(raised.value)
    assert "--keep" in str(raised.value)


def test_truth_values_and_dates() -> None:
    rows = 300
    times = pd.date_range("2024-01-01", periods=rows, freq="31h")
    columns: dict[str, list[object]] = {"when": list(times), "on": [row % 3 == 0 for row in range(rows)]}
    found = fit(spread(columns))
    assert found.names == ("when (year)", "when (month)", "when (weekday)", "when (hour)", "on")
    assert the(found, "on", NumberInput).centre == pytest.approx(1 / 3)
    parts: dict[str, NumberInput] = {
        each.part: each for each in found.inputs if isinstance(each, NumberInput) and each.column == "when"
    }
    for part, of_pandas in (("month", "month"), ("weekday", "day_of_week"), ("hour", "hour")):
        values = getattr(times, of_pandas).to_numpy(np.float64)
        assert parts[part].centre == pytest.approx(values.mean(), rel=1e-9)
        assert parts[part].scale == pytest.approx(values.std(), rel=1e-9)
    days = times.day_of_year - 1 + times.hour / 24
    years = (times.year + days / np.where(times.is_leap_year, 366, 365)).to_numpy(np.float64)
    assert parts["year"].centre == pytest.approx(years.mean(), rel=1e-9)
    assert parts["year"].scale == pytest.approx(years.std(), rel=1e-6)


def test_words_of_free_text_on_request() -> None:
    """`the` stands in nearly every text and tells nothing; `valve` in every second one; a number in one text."""
    texts = [f"the {'valve' if row % 2 else 'motor'} number {row} broke" for row in range(100)]
    found = the(fit(spread({"note": texts}, clients=5), text=("note",)), "note", WordInput)
    assert found.words == ("motor", "valve")


def test_the_classes_are_those_of_the_clients_where_nobody_gives_them() -> None:
    x = np.arange(40) / 7.0
    for labels, wanted in (
        (["b", "a"] * 20, ("a", "b")),
        ([10, 9] * 20, ("9", "10")),
        (["01", "1"] * 20, ("01", "1")),
    ):
        federation = federation_of({"x": x.tolist()}, ["s"] * 20 + ["t"] * 20, labels)
        fleet = table_fleet(federation)
        found = fit_preparation(fleet, ColumnChoices(), NOW, where="table", tell_classes=True)
        assert found.class_names == wanted


def test_all_problems_are_in_one_error() -> None:
    rows = 60
    texts = [f"a long story about number {row}" for row in range(rows)]
    federation = spread({"x": (np.arange(rows) % 9 / 2).tolist(), "story": texts, "tale": texts[::-1]})
    problems = (Problem("fault", "is a measurement and no class", "cut it"),)
    with pytest.raises(InputError) as raised:
        fit_preparation(
            table_fleet(federation), ColumnChoices(numeric=("absent",)), NOW, where="table", problems=problems
        )
    message = str(raised.value)
    for part in ("'fault'", "'story'", "'tale'", "'absent'", "cut it", "--without story", "--text tale"):
        assert part in message


MIXED: dict[str, list[object]] = {
    "x": np.random.default_rng(0).lognormal(size=400).round(3).tolist(),
    "age": np.random.default_rng(1).integers(18, 90, 400).tolist(),
    "city": np.random.default_rng(2).choice(["Oslo", "Lima", "Rome", "Riga"], 400).tolist(),
    "gap": [None if row % 5 else row / 3 for row in range(400)],
    "when": list(pd.date_range("2020-02-28", periods=400, freq="17h")),
}


def test_it_is_the_same_each_time_and_in_any_order_of_clients_and_replies() -> None:
    federation = spread(MIXED)
    first = fit(federation)
    assert fit(federation) == first
    fleet, _ = record(federation, backwards=True)
    other = fit(federation, fleet)
    assert other.names == first.names
    for one, two in zip(first.inputs, other.inputs, strict=True):
        if isinstance(one, NumberInput) and isinstance(two, NumberInput):  # sums in another order differ by rounding
            assert (one.low, one.high, one.fill) == (two.low, two.high, two.fill)
            assert [one.centre, one.scale] == pytest.approx([two.centre, two.scale], rel=1e-12)
        else:
            assert one == two


def test_it_does_not_depend_on_which_client_has_which_rows() -> None:
    few, many = fit(spread(MIXED, clients=2)), fit(spread(MIXED, clients=16))
    assert few.names == many.names
    for one, two in zip(few.inputs, many.inputs, strict=True):
        if isinstance(one, NumberInput) and isinstance(two, NumberInput):
            assert [one.centre, one.scale, one.low] == pytest.approx([two.centre, two.scale, two.low], rel=1e-9)


def test_what_is_stored_is_what_was_fitted() -> None:
    found = fit(spread(MIXED))
    assert found.names
    assert isinstance(found.inputs[-1], NumberInput | CategoryInput | MissingInput)
    assert read_preparation(json.loads(found.to_json()), "file") == found
