"""Quantiles of all clients' numbers, from counts alone, against those of all numbers in one place."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.core.preparation import Numbers
from fedclade.fleet.tables import table_fleet
from fedclade.preparation.quantiles import Sketch, sketch_numbers
from preparation.frames import NOW, record, spread

ROWS = 3000
RANK = 0.01  # the percentile rank that a quantile may be wrong by

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "normal": lambda rng: rng.normal(size=ROWS),
    "far from zero": lambda rng: rng.normal(1e6, 1, ROWS),
    "lognormal": lambda rng: rng.lognormal(2, 3, ROWS),
    "heavy ties": lambda rng: rng.choice([0, 0.1, 0.25, 7.3], ROWS, p=[0.5, 0.3, 0.15, 0.05]),
    "mostly zero": lambda rng: rng.choice([0, 1], ROWS, p=[0.9, 0.1]) * rng.lognormal(size=ROWS),
    "integers": lambda rng: rng.poisson(40, ROWS).astype(np.float64),
    "huge integers": lambda rng: np.floor(rng.uniform(1e12, 1e13, ROWS)),
    "integers around zero": lambda rng: rng.integers(-3, 4, ROWS).astype(np.float64),
    "constant": lambda _: np.full(ROWS, 3.25),
    "two peaks": lambda rng: np.where(rng.random(ROWS) < 0.4, rng.normal(-50, 1, ROWS), rng.normal(900, 5, ROWS)),
    "huge": lambda rng: rng.normal(size=ROWS) * 1e25,
    "tiny": lambda rng: rng.normal(size=ROWS) * 1e-20,
    "negative": lambda rng: -rng.lognormal(5, 1, ROWS),
    "uniform": lambda rng: rng.uniform(0, 1, ROWS),
    "with gaps": lambda rng: np.where(rng.random(ROWS) < 0.3, np.nan, rng.normal(size=ROWS)),
}


def sketch_of(values: NDArray[np.float64], clients: int = 10) -> Sketch:
    there = values[~np.isnan(values)]
    federation = spread({"x": values.tolist()}, clients)
    whole = bool((there == np.floor(there)).all())
    (found,) = sketch_numbers(table_fleet(federation), federation.clients, [Numbers("x")], [whole], NOW)
    return found


def check_rank(values: NDArray[np.float64], share: float, quantile: float, slack: float = RANK) -> None:
    """The quantile has this share of all values below it, or is one of many equal values of which some have."""
    near = max(1e-9 * abs(quantile), 1e-30)  # twelve digits are told; smaller numbers count as one
    below, up_to = (values < quantile - near).mean(), (values <= quantile + near).mean()
    assert below - slack <= share <= up_to + slack, (share, quantile, below, up_to)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 0.75, 0.99])
def test_quantiles_are_right_within_one_percentile_rank(name: str, share: float) -> None:
    values = DISTRIBUTIONS[name](np.random.default_rng(1))
    found = sketch_of(values).quantile(share)
    check_rank(values[~np.isnan(values)], share, found)


@pytest.mark.parametrize(("name", "ties"), [("heavy ties", {0, 0.1, 0.25, 7.3}), ("constant", {3.25})])
def test_a_value_that_comes_often_is_found_exactly(name: str, ties: set[float]) -> None:
    found = sketch_of(DISTRIBUTIONS[name](np.random.default_rng(1)))
    assert {found.quantile(share) for share in (0.02, 0.4, 0.6, 0.9, 0.99)} <= ties


def test_a_median_of_whole_numbers_is_whole() -> None:
    """Of 0 to 99, ten times each, 500 values are below 50."""
    found = sketch_of(np.repeat(np.arange(100.0), 10))
    assert found.quantile(0.5) in (49, 50)
    assert found.quantile(0.011) == 1
    assert found.quantile(0.005) == 0


@given(
    st.lists(
        st.one_of(st.floats(-1e30, 1e30), st.integers(-20, 20).map(float), st.sampled_from([0.0, 0.1, 1e-9, -1e12])),
        min_size=100,
        max_size=300,
    )
)
@settings(max_examples=25, deadline=None)
def test_any_numbers_have_quantiles_with_a_few_values_of_slack(values: list[float]) -> None:
    """Fewer than five values at an end are not told apart: of 100 they are five percent."""
    array = np.array(values)
    found = sketch_of(array, clients=3)
    assert found.total == len(array)
    for share in (0.05, 0.5, 0.95):
        check_rank(array, share, found.quantile(share), slack=5 / len(array) + 0.004)


def test_no_values_are_no_error() -> None:
    found = sketch_of(np.array([np.nan, np.nan, 1.0, np.nan]))
    assert found.total == 1
    nothing = Sketch(found.edges, np.zeros_like(found.counts), found.values)
    assert nothing.quantile(0.5) == 0


def test_one_number_far_out_is_asked_for_by_its_power_of_ten_alone() -> None:
    """All thresholds that were ever sent: none of them lies between 100 and 1,000 but these two."""
    values = np.random.default_rng(0).normal(size=200)
    values[17] = 345.678
    fleet, recorder = record(spread({"x": values.tolist()}))
    sketch_numbers(fleet, tuple(fleet.enrolments), [Numbers("x")], [False], NOW)
    sent = {
        threshold for request in recorder.requests if request.verb.name == "column_counts"
        for column in request.fields.columns for threshold in column.thresholds
    }  # fmt: skip
    assert {100.0, 1000.0} <= sent
    assert not [threshold for threshold in sent if 100 < threshold < 1000]
    bounds = [
        asked for request in recorder.requests if request.verb.name == "column_sums" for asked in request.fields.numbers
    ]
    assert all(asked.high <= 100 for asked in bounds)


@pytest.mark.parametrize("rows", [20, 60, 100, 500, 2000])
@pytest.mark.parametrize("copies", [1, 2, 4])
def test_a_few_equal_numbers_far_out_are_not_located_either(rows: int, copies: int) -> None:
    values = np.random.default_rng(rows).uniform(1, 5, rows)
    values[:copies] = 70123.0
    fleet, recorder = record(spread({"x": values.tolist()}, clients=2))
    sketch_numbers(fleet, tuple(fleet.enrolments), [Numbers("x")], [False], NOW)
    asked = [request.fields for request in recorder.requests if request.verb.name == "column_counts"]
    sent = {threshold for fields in asked for column in fields.columns for threshold in column.thresholds}
    assert sorted(threshold for threshold in sent if 1e4 <= threshold <= 1e5) == [1e4, 1e5]


def test_a_sketch_costs_few_trips() -> None:
    rng = np.random.default_rng(1)
    for name in ("normal", "lognormal", "heavy ties", "integers", "mostly zero"):
        fleet, recorder = record(spread({"x": DISTRIBUTIONS[name](rng).tolist()}, clients=4))
        sketch_numbers(fleet, tuple(fleet.enrolments), [Numbers("x")], [name == "integers"], NOW)
        assert len(recorder.requests) / 4 <= 10
