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
