"""What a client answers of its table: of the rows that it learns from, and of no others."""

from collections.abc import Mapping

import numpy as np
import pytest

from fedclade.client.columns import count_values, describe_columns, sum_values
from fedclade.core import InputError, Round
from fedclade.data import ClientData
from fedclade.data.examples import Part, Pool
from fedclade.fleet.gate import fault
from fedclade.wire import Reply, Request
from fedclade.wire.columns import (
    COLUMN_COUNTS,
    COLUMN_SUMS,
    COLUMNS,
    KINDS,
    ColumnsFields,
    CountFields,
    NamesAsked,
    NumbersAsked,
    SumAsked,
    SumFields,
    json_of,
)
from fedclade.wire.message import AnyRequest
from fedclade.wire.verb import AnyVerb
from preparation.frames import raw_table

TABLE = raw_table(
    {
        "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1000.0],
        "city": ["Oslo"] * 5 + ["Rome"] * 2 + ["Secret"],
        "note": ["wet pump"] * 6 + ["dry", "secret"],
        "list": [[1]] * 8,
    }
)
POOL = Pool(
    np.zeros((8, 0), np.float32),
    np.array([0, 1, 0, 1, 0, 1, 0, 2]),
    table=TABLE,
    class_names=("a", "b", "secret", "elsewhere"),
)
DATA = ClientData(Part(POOL, np.arange(7)), Part(POOL, np.array([7])))


def checked(verb: AnyVerb, fields: object, arrays: Mapping[str, object]) -> None:
    request: AnyRequest = ask(verb, fields)
    assert fault(Reply(verb.name, "c", 0, 7, arrays), request, 7) == ""  # type: ignore[arg-type]


def ask(verb: AnyVerb, fields: object) -> AnyRequest:
    return Request(verb, "c", Round(0, 0), np.zeros((0, 0), np.float32), fields)


def test_columns() -> None:
    fields = ColumnsFields()
    found = describe_columns(ask(COLUMNS, fields), DATA)
    checked(COLUMNS, fields, found)
    assert json_of(found["names"]) == ["x", "city", "note", "list"]
    assert json_of(found["faults"]) == ["", "", "", "holds lists"]
    assert json_of(found["classes"]) == []
    assert [KINDS[kind] for kind in found["kinds"]] == ["number", "text", "text", "unusable"]
    assert found["different"].tolist() == [7, 2, 2, 0]


def test_classes_are_told_on_request_and_only_those_that_the_client_has() -> None:
    found = describe_columns(ask(COLUMNS, ColumnsFields(tell_classes=True)), DATA)
    assert json_of(found["classes"]) == ["a", "b", "secret"]


def counts(fields: CountFields) -> list[list[int]]:
    found = count_values(ask(COLUMN_COUNTS, fields), DATA)
    checked(COLUMN_COUNTS, fields, found)
    return found["counts"].tolist()  # type: ignore[no-any-return]


ASKED = CountFields(
    columns=(NumbersAsked(column="x", thresholds=(2.0, 100.0)),),
    categories=(NamesAsked(column="city", names=("Oslo", "Lima")),),
)


def test_counts() -> None:
    assert counts(ASKED) == [[2], [5], [0], [5], [0], [2]]


def test_counts_by_label() -> None:
    fields = CountFields(columns=ASKED.columns, categories=ASKED.categories, class_names=("b", "a"))
    assert counts(fields) == [[1, 1], [2, 3], [0, 0], [2, 3], [0, 0], [1, 1]]


def test_rows_whose_label_is_not_asked_are_not_counted() -> None:
    assert counts(CountFields(columns=ASKED.columns, class_names=("b", "else"))) == [[1, 0], [2, 0], [0, 0]]


def test_sums_and_names() -> None:
    fields = SumFields(
        numbers=(
            SumAsked(column="x", low=2.0, high=6.0, centre=4.0),
            SumAsked(column="absent", low=0, high=1, centre=0),
        ),
        categories=("city", "absent"),
        texts=("note",),
    )
    found = sum_values(ask(COLUMN_SUMS, fields), DATA)
    checked(COLUMN_SUMS, fields, found)
    assert found["counts"].tolist() == [7, 0]
    assert found["sums"].tolist() == [0, 0]  # 2, 2, 3, 4, 5, 6, 6 less 4
    assert found["squares"].tolist() == [18, 0]
    assert json_of(found["names"]) == [{"Oslo": 5}, {}, {"pump": 6, "wet": 6}]


def test_examples_that_are_no_table_are_an_error() -> None:
    pool = Pool(np.zeros((2, 3), np.float32), np.array([0, 1]))
    data = ClientData(Part(pool, np.arange(2)), Part(pool, np.arange(2)))
    with pytest.raises(InputError, match="no table"):
        describe_columns(ask(COLUMNS, ColumnsFields()), data)
    with pytest.raises(InputError, match="no table"):
        count_values(ask(COLUMN_COUNTS, ASKED), data)
    with pytest.raises(InputError, match="no table"):
        sum_values(ask(COLUMN_SUMS, SumFields()), data)
