"""Which columns are inputs, which are left out and why, and which cannot be used as they are."""

from typing import Any

import numpy as np
import pytest

from fedclade.core import InputError
from fedclade.core.preparation import NumberInput, Preparation
from preparation.frames import federation_of, fit, spread

ROWS = 240
RNG = np.random.default_rng(5)
X = RNG.normal(size=ROWS).tolist()
TEXTS = [f"the engine of lorry {row} made a noise" for row in range(ROWS)]


def left_out(values: list[Any], name: str = "c", clients: int = 12, **choices: Any) -> str:
    """Why a column is left out; empty if it is not."""
    return fit(spread({"x": X[: len(values)], name: values}, clients), **choices).left_out.get(name, "")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("record", list(range(ROWS))),  # over the whole file, clients in turn
        ("record", [row // 12 for row in range(ROWS)]),  # from 0 at every client
        ("record", [1_700_000_000 + 37 * row for row in range(ROWS)]),  # a time in seconds, too
        ("record_id", RNG.permutation(ROWS).tolist()),  # in no order, but its name says it
        ("record", [float(row) for row in range(ROWS)]),
        ("record", [str(row) for row in range(ROWS)]),
        ("record", list(range(ROWS, 0, -1))),  # the newest row first
        ("record", [None if row % 40 == 7 else row for row in range(ROWS)]),
        ("record", [None if row % 5 == 1 else 900 - 3 * row for row in range(ROWS)]),
        ("code", [f"K{number:05}" for number in RNG.permutation(ROWS)]),
        ("code", [f"{number:05}" for number in RNG.permutation(ROWS)]),
    ],
)
def test_ids_are_left_out_unless_they_are_kept(name: str, values: list[Any]) -> None:
    assert left_out(values, name).startswith("an id: ")
    rare = "no value is there 5 times at any client, which --keep cannot change"
    assert left_out(values, name, keep=(name,)) == (rare if name == "code" else "")


def test_of_small_clients_the_real_reason_is_named() -> None:
    """In 3 to 5 rows of a client hardly any of 20 names comes twice: these are no ids, and no name may be told."""
    rng = np.random.default_rng(0)
    sites = np.repeat(np.arange(60), 4)
    x, names = rng.normal(size=240).tolist(), [f"part {number}" for number in rng.integers(0, 300, 240)]
    found = fit(federation_of({"x": x, "c": names}, sites.tolist(), rng.choice(["no", "yes"], 240).tolist()))
    assert found.left_out == {"c": "no value is there 5 times at any client"}


def test_numbers_that_are_too_small_are_not_called_the_same() -> None:
    values = (1e-300 * np.random.default_rng(0).normal(size=200)).tolist()
    assert left_out(values) == "numbers that differ by too little to be told apart"


@pytest.mark.parametrize("name", ["", " ", "Unnamed: 0", "__index_level_0__"])
def test_a_column_without_a_name_is_an_index(name: str) -> None:
    values = RNG.normal(size=ROWS).tolist()
    assert left_out(values, name) == "an index without a name"
    assert left_out(values, name, keep=(name,)) == ""


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient", RNG.permutation(ROWS).tolist()),  # whole numbers in no order may be a measurement
        ("price", [row + 0.5 for row in range(ROWS)]),  # decimals are never ids
        ("price", [f"{row}.25" for row in range(ROWS)]),
        ("id", [row / 4 for row in range(ROWS)]),
        ("year", [1800 + row // 12 for row in range(ROWS)]),
        ("founded", [1920 + row // 12 for row in range(ROWS)]),  # they can all be years
        ("age", RNG.integers(18, 90, ROWS).tolist()),
        ("age", sorted(RNG.integers(18, 30, ROWS).tolist())),  # sorted, but there are ties at every client
        ("id", RNG.integers(0, 5, ROWS).tolist()),
        ("repaired", [row if row // 12 in (3, 9, 14) else None for row in range(ROWS)]),  # filled here and there
        ("left", [ROWS - row if row % 24 < 12 else row for row in range(ROWS)]),  # neither rises nor falls
        ("city", RNG.choice(["Oslo", "Lima", "Rome"], ROWS).tolist()),
    ],
)
def test_what_is_no_id_stays(name: str, values: list[Any]) -> None:
    assert left_out(values, name) == ""


def test_an_id_need_not_be_one_at_every_client() -> None:
    """One of twelve clients was merged from two, and counts again in its middle: it still is an index."""
    values = [row // 12 for row in range(ROWS)]
    assert left_out([5 if row == 120 else value for row, value in enumerate(values)]).startswith("an id")
    assert left_out([5 if row >= 238 or 120 <= row < 122 else value for row, value in enumerate(values)]) == ""


def test_many_small_clients_do_not_outvote_large_ones() -> None:
    """At 60 clients of 2 rows an age can rise by chance; at 3 clients of 40 rows it does not."""
    sites = [f"small{row // 2}" for row in range(120)] + [f"large{row % 3}" for row in range(120)]
    ages = [30 + row % 2 for row in range(120)] + [20 + row % 50 for row in range(120)]
    federation = federation_of({"x": X, "age": ages}, sites, [0, 1] * 120)
    assert fit(federation).left_out == {}


def test_an_index_is_found_at_small_clients() -> None:
    assert left_out(list(range(90)), clients=30).startswith("an id")


def site_names(federation_names: list[str]) -> Preparation:
    sites = [f"s{row % 12}" for row in range(ROWS)]
    names = [federation_names[row % 12 % len(federation_names)] for row in range(ROWS)]
    return fit(federation_of({"x": X, "site_name": names}, sites, [0, 1, 1] * 80))


def test_a_second_name_of_the_client_is_left_out() -> None:
    found = site_names([f"Clinic {number}" for number in range(12)])
    assert found.left_out["site_name"].startswith("a name of the client")
    assert site_names(["north", "south"]).names == ("x", "site_name: north", "site_name: south")


def test_a_second_name_of_the_client_can_be_kept() -> None:
    sites = [f"s{row % 12}" for row in range(ROWS)]
    federation = federation_of({"x": X, "name": [site.upper() for site in sites]}, sites, [0, 1, 1] * 80)
    assert len(fit(federation, keep=("name",)).names) == 13


STORES = [*range(7001, 7301, 25)]  # 12 of them


def store_names(stores: list[Any], clients: int = 12, name: str = "store_no", **choices: Any) -> Preparation:
    """The preparation of a table with the store of each client."""
    sites = [f"s{row % clients:03}" for row in range(40 * clients)]
    values = [stores[row % clients] for row in range(40 * clients)]
    x = np.random.default_rng(3).normal(size=len(sites)).tolist()
    return fit(federation_of({"x": x, name: values}, sites, [0, 1, 1, 0] * (10 * clients)), **choices)


@pytest.mark.parametrize("clients", [2, 12, 300])
def test_a_code_of_the_client_is_left_out(clients: int) -> None:
    stores = [7001 + 25 * number for number in range(clients)]
    assert store_names(stores, clients).left_out["store_no"].startswith("a name of the client")


def test_a_code_of_the_client_is_left_out_though_clients_are_of_very_different_size() -> None:
    """A client with 2,400 rows, and 60 with 5 of them each: a single value of 2,700 is less than a sketch tells."""
    sites = ["large"] * 2400 + [f"s{row // 5:02}" for row in range(300)]
    stores = [100] * 2400 + [101 + row // 5 for row in range(300)]
    x = np.random.default_rng(3).normal(size=2700).tolist()
    found = fit(federation_of({"x": x, "store_no": stores}, sites, [0, 1, 1] * 900))
    assert found.left_out["store_no"].startswith("a name of the client")
    assert found.warnings == ()


@pytest.mark.parametrize("setting", ["keep", "numeric", "categorical"])
def test_a_code_of_the_client_can_be_kept(setting: str) -> None:
    choices: dict[str, Any] = {setting: ("store_no",)}
    found = store_names(STORES, **choices)
    assert len(found.names) == (13 if setting == "categorical" else 2)
    assert store_names(STORES, only=("store_no",)).names == ("store_no",)


@pytest.mark.parametrize(
    ("stores", "name"),
    [
        ([1, 2, 3, 1, 2, 2, 2, 1, 1, 3, 2, 1], "floors"),  # many clients share each
        ([number + 0.5 for number in STORES], "store_no"),  # decimals are no names
        ([*range(1951, 1963)], "founded"),
        ([*range(1851, 1863)], "year"),
    ],
)
def test_what_is_the_same_at_a_client_and_no_name_of_it_stays(stores: list[Any], name: str) -> None:
    assert store_names(stores, name=name).left_out == {}


def test_an_index_falls_at_small_clients_too() -> None:
    assert left_out(list(range(90, 0, -1)), clients=30).startswith("an id")


def test_two_rows_always_rise_or_fall() -> None:
    ages = RNG.permutation(ROWS).tolist()
    assert left_out(ages, clients=ROWS // 2) == ""


def problem(values: list[Any], name: str = "c", **choices: Any) -> str:
    with pytest.raises(InputError) as raised:
        fit(spread({"x": X[: len(values)], name: values}, 12), **choices)
    return str(raised.value)


def test_free_text_is_refused_with_advice() -> None:
    message = problem(TEXTS, "the note")
    assert "column 'the note' holds free text" in message
    assert "--without 'the note'" in message
    assert "--text 'the note'" in message
    assert left_out(TEXTS, without=("c",)) == ""


def test_text_that_repeats_is_no_free_text() -> None:
    assert left_out([TEXTS[row % 4] for row in range(ROWS)]) == ""


@pytest.mark.parametrize("numbers", [RNG.normal(size=ROWS).round(3), RNG.integers(0, 500, ROWS)])
def test_some_text_among_numbers_is_refused_with_advice(numbers: np.ndarray[Any, Any]) -> None:
    values = [*map(str, numbers.tolist())]
    values[7] = "n/a"
    message = problem(values)
    assert "column 'c' holds numbers, and text among them" in message
    assert "--numeric c" in message
    assert "--categorical c" in message


def test_numbers_with_some_text_are_what_the_user_says() -> None:
    values = [*map(str, RNG.normal(size=ROWS).round(3).tolist())]
    values[7] = "n/a"
    found = fit(spread({"x": X, "c": values}), numeric=("c",))
    assert [type(each) for each in found.inputs] == [NumberInput, NumberInput]
    codes = [str(row // 2 % 24) for row in range(ROWS)]  # at each of 2 clients, 24 codes, 5 times each
    codes[0] = "7b"
    with pytest.raises(InputError, match="numbers, and text among them"):
        fit(spread({"x": X, "c": codes}, 2))
    assert "c: 7" in fit(spread({"x": X, "c": codes}, 2), categorical=("c",)).names


def test_a_few_codes_of_which_some_look_like_numbers_are_categories() -> None:
    values = RNG.choice(["0", "1", "2", "3+"], ROWS).tolist()
    assert fit(spread({"x": X, "c": values}, 4)).names == ("x", "c: 0", "c: 1", "c: 2", "c: 3+")


def test_some_text_among_dates_is_refused_with_advice() -> None:
    values = [f"2024-03-{1 + row % 28:02}" for row in range(ROWS)]
    values[7] = "unknown"
    assert "column 'c' holds dates, and text among them" in problem(values)


def test_codes_with_leading_zeros_are_categories() -> None:
    values = [f"{row % 4:03}" for row in range(ROWS)]
    assert fit(spread({"x": X, "c": values}, 5)).names == ("x", "c: 000", "c: 001", "c: 002", "c: 003")


def test_only_and_without() -> None:
    columns = {"x": X, "y": X[::-1], "z": X[::-1]}
    assert fit(spread(columns), only=("z", "x")).names == ("x", "z")
    assert fit(spread(columns), without=("y",)).names == ("x", "z")
    assert fit(spread(columns), without=("y",)).left_out == {}


def test_every_column_that_is_not_there_is_named() -> None:
    message = problem([*X], without=("absent", "cc"), numeric=("gone",))
    for part in ("'absent'", "'cc'", "'gone'", "--numeric", 'did you mean "c"?'):
        assert part in message


def test_a_column_of_lists_is_refused() -> None:
    message = problem([[1, 2]] * ROWS)
    assert "column 'c' holds lists" in message
    assert "--without c" in message
