"""Messages about the columns of tables: what is sent is what arrives, and hostile replies are refused."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.core import InputError, Round
from fedclade.fleet.gate import fault
from fedclade.wire import Reply, Request
from fedclade.wire.codec import read_request, request_header
from fedclade.wire.columns import (
    COLUMN_COUNTS,
    COLUMN_SUMS,
    COLUMNS,
    ColumnsFields,
    CountFields,
    NamesAsked,
    NumbersAsked,
    SumAsked,
    SumFields,
    json_array,
    json_of,
)
from fedclade.wire.message import AnyRequest
from fedclade.wire.verb import AnyVerb

NOW = Round(0, 0)
NO_ROWS = np.zeros((0, 0), np.float32)
COUNTS = CountFields(
    columns=(
        NumbersAsked(column="x", thresholds=(0.0, 0.5)),
        NumbersAsked(column="when", of="date", part="year", thresholds=(2000.5,)),
    ),
    categories=(NamesAsked(column="city", names=("Oslo", "Łódź")),),
    class_names=("no", "yes"),
)
SUMS = SumFields(numbers=(SumAsked(column="x", low=-1.0, high=3.0, centre=1.0),), categories=("city",), texts=("note",))
FIELDS: dict[AnyVerb, object] = {COLUMNS: ColumnsFields(tell_classes=True), COLUMN_COUNTS: COUNTS, COLUMN_SUMS: SUMS}


def ask(verb: AnyVerb) -> AnyRequest:
    return Request(verb, "a", NOW, NO_ROWS, FIELDS[verb])


@pytest.mark.parametrize("verb", FIELDS, ids=lambda verb: str(verb.name))
def test_a_request_is_read_as_it_was_written(verb: AnyVerb) -> None:
    text = json.dumps(request_header(ask(verb)))
    assert read_request(json.loads(text), NOW, NO_ROWS).fields == FIELDS[verb]


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": [{"column": "x", "thresholds": [0.0, float("nan")]}]},
        {"columns": [{"column": "x", "thresholds": list(range(5000))}]},
        {"columns": [{"column": "x", "thresholds": [], "of": "picture"}]},
        {"columns": [{"column": "x" * 10_001, "thresholds": []}]},
        {"categories": [{"column": "x", "names": [1]}]},
        {"categories": "x"},
        {"columns": [{"column": "x", "thresholds": [], "kind": "names"}]},
        {"rows": True},
    ],
)
def test_a_request_that_does_not_fit_is_refused(fields: Mapping[str, object]) -> None:
    header = {"verb": "column_counts", "client": "a", "fields": fields}
    with pytest.raises(InputError):
        read_request(header, NOW, NO_ROWS)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=9))
def test_plain_data_crosses_as_bytes(value: object) -> None:
    try:
        array = json_array(value)
    except UnicodeEncodeError:
        return  # half a pair of UTF-16: no column of a table has it
    assert array.dtype == np.uint8
    assert json_of(array) == value


@pytest.mark.parametrize(
    "text", [b"", b"[", b"\xff\xfe", b"[" * 100_000, b'["\\ud800"]', b"1" * 10_000, b'{"\\udfff": 1}']
)
def test_what_is_no_plain_data_is_none(text: bytes) -> None:
    assert json_of(np.frombuffer(text, np.uint8)) is None


GOOD: dict[AnyVerb, Mapping[str, Any]] = {
    COLUMNS: {
        **{"names": json_array(["x", "city"]), "faults": json_array(["", ""]), "classes": json_array(["no"])},
        **{"kinds": np.array([2, 5]), "filled": np.array([10, 9]), "different": np.array([10, 2])},
        **{"words": np.array([0, 1.0]), "flags": np.zeros((2, 6), bool)},
    },
    # x: up to 0, up to 0.5, above; when: up to 2000.5, above; city: Oslo, Łódź, others. For each, label no and yes.
    COLUMN_COUNTS: {"counts": np.array([[1, 1], [2, 2], [2, 2], [5, 5], [0, 0], [3, 3], [2, 1], [0, 1]])},
    # Four values from -1 to 3 less 1: -2, 2, 0 and 1.
    COLUMN_SUMS: {
        **{"counts": np.array([4]), "sums": np.array([1.0]), "squares": np.array([9.0])},
        "names": json_array([{"Oslo": 6}, {"cold": 5, "warm": 7}]),
    },
}


def reason(verb: AnyVerb, **arrays: Any) -> str:
    reply = Reply(verb.name, "a", 0, 10, GOOD[verb])
    return fault(replace(reply, arrays={**reply.arrays, **arrays}), ask(verb), 10)


@pytest.mark.parametrize("verb", FIELDS, ids=lambda verb: str(verb.name))
def test_a_good_reply_is_let_through(verb: AnyVerb) -> None:
    assert reason(verb) == ""


FAULTS: list[tuple[AnyVerb, Mapping[str, Any], str]] = [
    (COLUMNS, {"names": json_array(["x", "x"])}, "names: got one twice"),
    (COLUMNS, {"names": json_array(["x"])}, "columns: got"),
    (COLUMNS, {"names": json_array({"x": 1, "city": 2})}, "names: got something else"),
    (COLUMNS, {"names": json_array(["x", 2])}, "names: got something else"),
    (COLUMNS, {"names": json_array(["x", "y" * 10_001])}, "names: got something else"),
    (COLUMNS, {"names": np.frombuffer(b'["x", "\\ud800"]', np.uint8)}, "names: got something else"),
    (COLUMNS, {"faults": json_array([""])}, "columns: got"),
    (COLUMNS, {"faults": json_array(None)}, "names: got something else"),
    (COLUMNS, {"classes": json_array([["no"]])}, "names: got something else"),
    (COLUMNS, {"kinds": np.array([2, 9])}, "kinds: got 9, need at most 8"),
    (COLUMNS, {"kinds": np.array([2, -1])}, "kinds: got -1"),
    (COLUMNS, {"kinds": np.array([2])}, "columns: got"),
    (COLUMNS, {"filled": np.array([11, 9])}, "filled: got more than 10"),
    (COLUMNS, {"filled": np.array([-1, 9])}, "filled: got -1"),
    (COLUMNS, {"different": np.array([10, 10])}, "different: got more"),
    (COLUMNS, {"words": np.array([0, np.nan])}, "words: got 1 of 2"),
    (COLUMNS, {"words": np.array([0, -1.0])}, "words: got -1"),
    (COLUMNS, {"flags": np.zeros((2, 6), np.int64)}, "flags: got int64"),
    (COLUMNS, {"flags": np.zeros((3, 6), bool)}, "columns: got"),
    (COLUMN_COUNTS, {"counts": GOOD[COLUMN_COUNTS]["counts"][:-1]}, "counts: got shape (7, 2), need (8, 2)"),
    (COLUMN_COUNTS, {"counts": GOOD[COLUMN_COUNTS]["counts"][:, :1]}, "counts: got shape (8, 1)"),
    (COLUMN_COUNTS, {"counts": GOOD[COLUMN_COUNTS]["counts"].astype(float)}, "counts: got float64"),
    (COLUMN_COUNTS, {"counts": GOOD[COLUMN_COUNTS]["counts"] - 1}, "counts: got -1"),
    (COLUMN_COUNTS, {"counts": GOOD[COLUMN_COUNTS]["counts"] + 1}, "counts: got more than 10"),
    (COLUMN_COUNTS, {"counts": np.full((8, 2), 2**62)}, "counts: got more than 10"),
    (COLUMN_SUMS, {"counts": np.array([11])}, "counts: got more than 10"),
    (COLUMN_SUMS, {"counts": np.array([-1])}, "counts: got -1"),
    (COLUMN_SUMS, {"counts": np.array([2**63 - 1])}, "counts: got more than 10"),
    (COLUMN_SUMS, {"sums": np.array([8.1])}, "sums: got more than the bounds allow"),  # four values of 2 at the most
    (COLUMN_SUMS, {"sums": np.array([-8.1])}, "sums: got more than the bounds allow"),
    (COLUMN_SUMS, {"sums": np.array([np.inf])}, "sums: got 1 of 1"),
    (COLUMN_SUMS, {"squares": np.array([16.1])}, "squares: got more than the bounds allow"),
    (COLUMN_SUMS, {"squares": np.array([-1.0])}, "squares: got -1"),
    (COLUMN_SUMS, {"sums": np.array([7.0])}, "sums: got more than their squares allow"),  # 49 > 4 * 9
    (COLUMN_SUMS, {"counts": np.array([0])}, "sums: got more than the bounds allow"),
    (COLUMN_SUMS, {"names": json_array([{"Oslo": 6}])}, "names: need a list of 2"),
    (COLUMN_SUMS, {"names": json_array({"Oslo": 6})}, "names: need a list of 2"),
    (COLUMN_SUMS, {"names": json_array([["Oslo"], {}])}, "names: need the names"),
    (COLUMN_SUMS, {"names": json_array([{"x" * 10_001: 6}, {}])}, "names: need the names"),
    (COLUMN_SUMS, {"names": json_array([{"Oslo": 11}, {}])}, "names: need counts from 1 to 10"),
    (COLUMN_SUMS, {"names": json_array([{"Oslo": 0}, {}])}, "names: need counts from 1 to 10"),
    (COLUMN_SUMS, {"names": json_array([{"Oslo": 6.5}, {}])}, "names: need counts from 1 to 10"),
    (COLUMN_SUMS, {"names": json_array([{"Oslo": True}, {}])}, "names: need counts from 1 to 10"),
    (COLUMN_SUMS, {"names": json_array([{"Oslo": 6, "Rome": 5}, {}])}, "names: got more than 10 categories"),
]


@pytest.mark.parametrize(("verb", "arrays", "wanted"), FAULTS)
def test_a_reply_with_one_fault_is_refused(verb: AnyVerb, arrays: Mapping[str, Any], wanted: str) -> None:
    assert reason(verb, **arrays).startswith(wanted)


def test_a_text_can_have_many_words() -> None:
    assert reason(COLUMN_SUMS, names=json_array([{}, {"cold": 10, "warm": 10, "wet": 10}])) == ""


def test_nothing_asked_is_answered_by_nothing() -> None:
    nothing: dict[str, Any] = {"counts": np.zeros(0, np.int64), "sums": np.zeros(0), "squares": np.zeros(0)}
    answers: list[tuple[AnyVerb, object, dict[str, Any]]] = [
        (COLUMN_COUNTS, CountFields(), {"counts": np.zeros((0, 1), np.int64)}),
        (COLUMN_SUMS, SumFields(), {**nothing, "names": json_array([])}),
    ]
    for verb, fields, arrays in answers:
        assert fault(Reply(verb.name, "a", 0, 10, arrays), Request(verb, "a", NOW, NO_ROWS, fields), 10) == ""


def test_too_much_is_not_asked_at_once() -> None:
    """A request of a few kilobytes must not make a client count billions."""
    numbers = tuple(NumbersAsked(column=f"x{each}", thresholds=tuple(map(float, range(4096)))) for each in range(2))
    labels = tuple(map(str, range(1000)))
    assert len(CountFields(columns=numbers, class_names=labels[:500]).columns) == 2  # 2 x 4,097 x 500 < 2^22
    with pytest.raises(InputError, match=r"too much is asked at once, column_counts: got 8194000 counts"):
        CountFields(columns=numbers, class_names=labels)
    with pytest.raises(InputError):
        CountFields(class_names=tuple(map(str, range(1001))))


@pytest.mark.parametrize("classes", [["", "a"], ["a\x1b[31m"], ["x" * 201], [f"c{each}" for each in range(10_001)]])
def test_classes_that_no_label_can_have_are_refused(classes: list[str]) -> None:
    request = Request(COLUMNS, "a", Round(0, 0), NO_ROWS, ColumnsFields(tell_classes=True))
    numbers = dict.fromkeys(("kinds", "filled", "different"), np.zeros(0, np.int64))
    arrays: dict[str, Any] = {
        "names": json_array([]),
        "faults": json_array([]),
        **numbers,
        "words": np.zeros(0),
        "flags": np.zeros((0, 6), bool),
    }
    good = Reply("columns", "a", 0, 10, {**arrays, "classes": json_array(["no", "yes"])})
    assert COLUMNS.fault(request, good) == ""
    bad = Reply("columns", "a", 0, 10, {**arrays, "classes": json_array(classes)})
    assert COLUMNS.fault(request, bad).startswith("classes: need at most 10000 printable names")
