"""In which order day and month stand is decided over all clients, and is the same at sites as in one file."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

import numpy as np
import pytest

from fedclade.core import InputError
from fedclade.core.preparation import NumberInput, Preparation
from fedclade.data import Federation
from fedclade.data.prepared import prepare_client
from preparation.frames import federation_of, fit, own_files

SITES, ROWS = 10, 19
DAYS = [date(2024, 1, 1) + timedelta(days=17 * row) for row in range(SITES * ROWS)]
EARLY = [date(2024, 1 + row % 12, 1 + row % 7) for row in range(ROWS)]
LABELS = ["no", "yes"]
Columns = Mapping[str, Sequence[str]]


def together(columns: Columns) -> Federation:
    """One file, whose rows lie at sites one after the other, with the labels that `apart` has."""
    rows = range(SITES * ROWS)
    return federation_of(columns, [f"s{row // ROWS:03}" for row in rows], [LABELS[row % ROWS % 2] for row in rows])


def apart(columns: Columns) -> Federation:
    """A file at each site."""
    return own_files(
        *[{name: cells[site * ROWS : (site + 1) * ROWS] for name, cells in columns.items()} for site in range(SITES)]
    )


def written(form: str, days: Sequence[date] = DAYS) -> list[str]:
    return [day.strftime(form) for day in days]


def test_a_site_whose_dates_do_not_show_the_order_learns_it_from_the_others() -> None:
    days = [*DAYS[: 3 * ROWS], *EARLY, *DAYS[4 * ROWS :]]
    columns = {"when": written("%d/%m/%Y", days)}
    found = fit(apart(columns))
    assert found == fit(together(columns))
    assert {each.order for each in found.inputs if isinstance(each, NumberInput)} == {"day"}
    inputs = [prepare_client(made["s003"], found).train.inputs for made in (apart(columns), together(columns))]
    np.testing.assert_array_equal(inputs[0], inputs[1])
    place = found.names.index("when (month)")
    month = found.inputs[place]
    assert isinstance(month, NumberInput)
    wanted = [(day.month - month.centre) / month.scale for day in EARLY]
    np.testing.assert_allclose(inputs[0][:, place], wanted, rtol=1e-5)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m-%d-%Y"])
def test_where_both_orders_are_the_same_day_dates_are_read(form: str) -> None:
    columns = {"when": written(form, [date(2000 + row // 12, 1 + row % 12, 1 + row % 12) for row in range(190)])}
    assert "when (month)" in fit(together(columns)).names


@pytest.mark.parametrize("make", [together, apart])
@pytest.mark.parametrize("form", ["01/%m/%Y", "%m-01-2024", "%d/%m/%y 10:30"])
def test_an_order_that_nothing_shows_is_asked_for(make: Callable[[Columns], Federation], form: str) -> None:
    days = [date(2000 + row // 12, 1 + row % 12, 1 + row % 5) for row in range(190)]
    federation = make({"when": written(form, days), "x": written("%d", DAYS)})
    with pytest.raises(InputError, match=r"'when' holds dates that can be read with.*--dates day-first, or --dates m"):
        fit(federation)
    for dates, months in (("day-first", 12), ("month-first", 5)):
        found = fit(federation, dates=dates)
        read = [each for each in found.inputs if isinstance(each, NumberInput) and each.of == "date"]
        assert {each.order for each in read} == {dates.partition("-")[0]}
        if form.startswith("%d"):
            month = next(each for each in read if each.part == "month")
            assert (month.low, month.high) == (1, 12)
            shown = {round(value) for value in read_back(federation, found, month)}
            assert shown == set(range(1, months + 1))


def read_back(federation: Federation, found: Preparation, month: NumberInput) -> list[float]:
    """The months of all rows."""
    place = found.inputs.index(month)
    inputs = np.concatenate([prepare_client(held, found).train.inputs for held in federation.data.values()])
    return [float(value) for value in inputs[:, place] * month.scale + month.centre]


def test_another_column_of_the_table_shows_the_order() -> None:
    columns = {"begin": written("%d/%m/%Y", (EARLY * SITES)), "end": written("%d/%m/%Y")}
    found = fit(apart(columns))
    assert {each.order for each in found.inputs if isinstance(each, NumberInput)} == {"day"}
    assert found.warnings[0] == "dates of column 'begin' are read with the day first, as those of 'end'"


@pytest.mark.parametrize("make", [together, apart])
def test_sites_with_another_order_each_are_a_problem(make: Callable[[Columns], Federation]) -> None:
    columns = {"when": [*written("%d/%m/%Y", DAYS[: 5 * ROWS]), *written("%m/%d/%Y", DAYS[5 * ROWS :])]}
    with pytest.raises(InputError, match="'when' holds dates with the day first, and others with the month first"):
        fit(make(columns))


def test_days_that_a_site_mixes_with_text_are_read_in_the_order_of_all() -> None:
    days = written("%d/%m/%Y", [*DAYS[: 9 * ROWS], *EARLY])
    found = fit(together({"when": days, "x": written("%d")}))
    held = federation_of({"when": [*written("%d/%m/%Y", EARLY), "?"], "x": ["1"] * 20}, ["s"] * 20, ["no", "yes"] * 10)
    place = found.names.index("when (month)")
    inputs = prepare_client(held["s"], found).train.inputs[:, place]
    month = found.inputs[place]
    assert isinstance(month, NumberInput)
    np.testing.assert_allclose(inputs[:-1], [(day.month - month.centre) / month.scale for day in EARLY], rtol=1e-5)
    assert inputs[-1] == pytest.approx((month.fill - month.centre) / month.scale, rel=1e-5)


MINUTES = np.datetime64("2024-01-01T00:00") + np.arange(SITES * ROWS)
RISING = "rise from row to row, and each client has a time of its own"


def times(order: Sequence[int]) -> list[str]:
    return [str(each) for each in MINUTES[list(order)]]


def test_dates_that_number_the_rows_of_a_file_are_warned_of() -> None:
    """The within-variance of 10 stretches one behind the other is 1/100 of the whole."""
    rng = np.random.default_rng(0)
    in_turn = [row % ROWS * SITES + row // ROWS for row in range(SITES * ROWS)]  # every client over all the time
    for order, is_warned in ((range(SITES * ROWS), True), (in_turn, False), (rng.permutation(SITES * ROWS), False)):
        columns = {"when": times(list(order)), "x": [str(value) for value in rng.normal(size=SITES * ROWS)]}
        for made in (together(columns), apart(columns)):
            assert any(RISING in each for each in fit(made).warnings) == is_warned
