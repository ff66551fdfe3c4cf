"""Sites that read a file of their own are prepared as if all rows stood in one file."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedclade.core import InputError
from fedclade.core.preparation import NumberInput, read_preparation
from fedclade.data.prepared import prepare_client
from preparation.frames import federation_of, fit, own_files

ROWS = 400
RNG = np.random.default_rng(4)
COLUMNS: dict[str, list[Any]] = {
    "x": RNG.lognormal(size=ROWS).round(3).tolist(),
    "age": RNG.integers(18, 90, ROWS).tolist(),
    "on": RNG.choice([True, False], ROWS).tolist(),
    "city": RNG.choice(["Oslo", "Lima", "Rome", "Riga"], ROWS).tolist(),
    "when": list(pd.date_range("2020-02-28", periods=ROWS, freq="17h")),
    "index": list(range(ROWS)),
    "code": [f"K{number}" for number in RNG.permutation(ROWS)],
}


def parts(count: int = 5) -> list[dict[str, list[Any]]]:
    """The rows of each of so many sites."""
    return [{name: values[site::count] for name, values in COLUMNS.items()} for site in range(count)]


def test_it_is_the_preparation_of_one_file() -> None:
    labels = [["no", "yes"][row // 5 % 2] for row in range(ROWS)]
    together = fit(federation_of(COLUMNS, [f"s{row % 5:03}" for row in range(ROWS)], labels))
    assert fit(own_files(*parts())) == together
    assert {*together.left_out} == {"index", "code"}


def kinds_by_site(count: int) -> dict[str, list[Any]]:
    """Columns of text that is written like numbers, truth values or dates in all rows of some sites.

    Row by row, sites in turn: the first two of five have nothing else.
    """
    plain = [row % count % 5 < 2 for row in range(ROWS)]

    def cells(usual: list[str], others: list[str]) -> list[str | None]:
        return [str(RNG.choice(usual if alone else usual + others)) for alone in plain]

    return {
        "x": COLUMNS["x"],
        "size": cells(["1.0", "2.0"], ["XL", "2"]),
        "flag": cells(["True", "False"], ["unknown"]),
        "day": cells(["2024-01-01", "2024-01-02", "2024-01-02 10:00"], ["n/a", "never", "later", "today", "soon"]),
        "code": cells(["7", "12"], ["01", "02"]),
        "part": cells(["1_1", "1_2", "12_3"], ["1"]),
        "level": [None if row % 7 == 0 else cell for row, cell in enumerate(cells(["1.00", "+2"], ["low", "high"]))],
        "on": [str(row % 3 == 0) if alone else str(int(row % 3 == 0)) for row, alone in enumerate(plain)],
        "when": [
            f"2024-03-{1 + row % 28:02}" if alone else f"{1 + row % 28}.3.2024" for row, alone in enumerate(plain)
        ],
    }


def test_text_that_is_something_else_at_some_sites_has_the_inputs_of_one_file() -> None:
    count = 10
    columns = kinds_by_site(count)
    labels = [["no", "yes"][row // count % 2] for row in range(ROWS)]
    together = federation_of(columns, [f"s{row % count:03}" for row in range(ROWS)], labels)
    apart = own_files(*[{name: values[site::count] for name, values in columns.items()} for site in range(count)])
    kinds = {name: column.kind for name, column in apart["s000"].train.pool.table.columns.items()}  # type: ignore[union-attr]
    assert {kinds[name] for name in ("size", "code", "level")} == {"number"}
    assert (kinds["flag"], kinds["day"], kinds["part"]) == ("boolean", "date", "text")
    found = fit(apart)
    assert found == fit(together)
    for name in (
        *("size: 1.0", "size: 2.0", "size: XL", "flag: True", "flag: unknown", "day: 2024-01-02 10:00", "day: n/a"),
        *("code: 01", "code: 7", "part: 12_3", "level: +2", "level: 1.00", "level is empty", "on", "when (weekday)"),
    ):
        assert name in found.names
    for site in together.clients:
        mine, theirs = (prepare_client(each[site], found).train for each in (together, apart))
        assert (mine.inputs == theirs.inputs).all()
        assert (mine.inputs.sum(axis=0) != 0).sum() > 10


def test_dates_of_parquet_at_one_site_are_names_elsewhere() -> None:
    days = [f"2024-01-0{1 + row % 3}" for row in range(80)]
    others = [day if row % 5 < 2 else ["soon", "never"][row % 2] for row, day in enumerate(days)]
    x = COLUMNS["x"][:80]
    found = fit(own_files(*[{"x": x, "day": pd.to_datetime(pd.Series(days))}], *[{"x": x, "day": others}] * 4))
    assert found.names == (
        "x",
        *(f"day: {name}" for name in ("2024-01-01", "2024-01-02", "2024-01-03", "never", "soon")),
    )


def test_a_column_that_most_sites_lack_is_left_out() -> None:
    tables: list[dict[str, list[Any]]] = parts()
    for table in tables[2:]:
        del table["age"]
    found = fit(own_files(*tables))
    assert found.left_out["age"] == "only 2 of 5 clients have it"


def test_a_column_that_one_site_lacks_is_empty_there() -> None:
    tables = parts()
    del tables[0]["age"], tables[1]["city"]
    federation = own_files(*tables)
    found = fit(federation)
    assert {"age is empty", "city is empty"} <= {*found.names}
    inputs = prepare_client(federation["s000"], found).train.inputs
    assert (inputs[:, found.names.index("age is empty")] == 1).all()
    assert (inputs[:, found.names.index("city is empty")] == 0).all()


def test_numbers_at_one_site_and_text_at_another_are_a_problem() -> None:
    tables = parts()
    tables[2]["x"] = ["n/a"] * 80
    with pytest.raises(InputError, match="'x' holds numbers, and text among them"):
        fit(own_files(*tables))
    found = fit(own_files(*tables), numeric=("x",))
    assert isinstance(found.inputs[0], NumberInput)


def test_dates_at_one_site_and_text_at_another_are_a_problem() -> None:
    tables = parts()
    tables[2]["when"] = ["yesterday"] * 80
    with pytest.raises(InputError, match="'when' holds dates, and text among them"):
        fit(own_files(*tables))


def test_truth_values_at_one_site_and_0_and_1_at_another_are_numbers() -> None:
    tables = parts()
    tables[2]["on"] = [int(each) for each in tables[2]["on"]]
    federation = own_files(*tables)
    found = fit(federation)
    (on,) = (each for each in found.inputs if each.column == "on")
    assert isinstance(on, NumberInput)
    assert on.centre == pytest.approx(np.mean(COLUMNS["on"]))
    place = found.names.index("on")
    for number in (1, 2):
        inputs = prepare_client(federation[f"s{number:03}"], found).train.inputs[:, place]
        wanted = (np.array(COLUMNS["on"][number::5], np.float64) - on.centre) / on.scale
        assert inputs == pytest.approx(wanted, rel=1e-6)


def test_a_site_numbers_labels_as_the_preparation_does() -> None:
    """The first site has no `b`, the second no `a`: its own numbers of labels are others."""
    tables = parts(2)
    data = own_files(tables[0], labels=("a", "c")).data["s000"], own_files(tables[1], labels=("b", "c")).data["s000"]
    federation = own_files(*tables, labels=("a", "b", "c"))
    found = read_preparation(json.loads(fit(federation).to_json()), "file")
    first, second = (prepare_client(each, found).train.labels.tolist()[:2] for each in data)
    assert (first, second) == ([0, 2], [1, 2])
