"""Every reply is compared with what was asked, alone; what does not fit is refused, and nothing is raised."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.core import Round
from fedclade.fleet import Enrolment
from fedclade.fleet.gate import MAX_EXAMPLE_FACTOR, Gate, fault
from fedclade.wire import Reply, Request, columns
from fedclade.wire import verbs as wire
from fedclade.wire.columns import json_array
from fedclade.wire.message import AnyRequest
from fedclade.wire.verbs import VERBS, diagonal

NOW = Round(number=3, seed=0)
ROW = np.arange(4, dtype=np.float32)
MEANS = np.array([[1.0] * 6, [2.0] * 6, [0.0] * 6], np.float32)
TOKEN = np.array(-7, np.int64)
ENROLLED = dict.fromkeys("abc", Enrolment(10, 10))
FIELDS: dict[str, object] = {
    "train": wire.TrainFields(),
    "train_best": wire.NoFields(),
    "losses": wire.NoFields(),
    "evaluate": wire.EvaluateFields(counts=4, sums=2),
    "validate": wire.EvaluateFields(counts=4, sums=2),
    "sketch": wire.SketchFields(encoder="pixels", points=2, features=6),
    "moments": wire.MomentFields(encoder="pixels", features=6, classes=3),
    "changed": wire.ChangedFields(token=0),
    "scatter": wire.EncodedFields(encoder="pixels", features=6),
    "columns": columns.ColumnsFields(),
    "column_counts": columns.CountFields(columns=(columns.NumbersAsked(column="x", thresholds=(0.5,)),)),
    "column_sums": columns.SumFields(numbers=(columns.SumAsked(column="x", low=0.0, high=2.0, centre=1.0),)),
}


def ask(client: str, verb: str = "train") -> AnyRequest:
    rows = ROW[None] if verb not in ("losses", "train_best") else np.stack([ROW, ROW])
    return Request(VERBS[verb], client, NOW, rows, FIELDS[verb])


def good(client: str, verb: str = "train") -> Reply:
    arrays: Mapping[str, Mapping[str, NDArray[np.generic]]] = {
        "train": {"row": ROW, "loss": np.array(0.5)},
        "train_best": {"row": ROW, "loss": np.array(0.5), "losses": np.array([0.5, 0.25])},
        "losses": {"losses": np.array([0.5, 0.25])},
        "evaluate": {
            **{"loss": np.array(0.5), "score": np.array([7.0, 7.0]), "sums": np.array([3.0, 3.0])},
            "counts": np.array([4, 1, 2, 3], np.int64),
        },
        "validate": {
            **{"loss": np.array(0.5), "score": np.array([7.0, 7.0]), "sums": np.array([3.0, 3.0])},
            "counts": np.array([4, 1, 2, 3], np.int64),
        },
        "sketch": {"points": np.ones((2, 6), np.float32), "counts": np.array([4, 6], np.int64), "token": TOKEN},
        "moments": {
            **{"counts": np.array([9, 1, 0], np.int64), "means": MEANS, "token": TOKEN},
            "variances": np.array([0.5, 0, 0], np.float32),
        },
        "changed": {"changed": np.array(True)},
        "scatter": {"total": np.full(6, 20.0), "products": np.full(21, 50, np.float32)},
        "columns": {
            **{"names": json_array(["x"]), "faults": json_array([""]), "classes": json_array([])},
            **{"kinds": np.array([2]), "filled": np.array([9]), "different": np.array([4]), "words": np.zeros(1)},
            "flags": np.zeros((1, 6), bool),
        },
        "column_counts": {"counts": np.array([[6], [4]])},
        "column_sums": {
            **{"counts": np.array([4]), "sums": np.array([1.0]), "squares": np.array([3.0]), "names": json_array([])},
        },
    }
    return Reply(verb, client, 3, 10, arrays[verb])


def admitted(replies: Iterable[Reply], verb: str = "train") -> tuple[list[str], list[str]]:
    gate = Gate({client: ask(client, verb) for client in "abc"}, ENROLLED)
    heard = [reply.client for reply in gate.admit(replies)]
    return heard, [refusal.reason for refusal in gate.refusals]


@pytest.mark.parametrize("verb", VERBS)
def test_lets_a_good_reply_through(verb: str) -> None:
    assert fault(good("a", verb), ask("a", verb), 10) == ""


def change(**arrays: Any) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, arrays={**reply.arrays, **arrays})


BROKEN: dict[str, tuple[Callable[[Reply], Reply], str]] = {
    "NaN": (change(row=np.array([0, 1, np.nan, 3], np.float32)), "row: got 1 of 4"),
    "infinity": (change(row=np.array([0, np.inf, -np.inf, 3], np.float32)), "row: got 2 of 4"),
    "NaN loss": (change(loss=np.array(np.nan)), "loss:"),
    "too short": (change(row=ROW[:3]), "row: got shape (3,), need (4,)"),
    "one that would broadcast": (change(row=ROW[:1]), "row: got shape (1,)"),
    "another rank": (change(row=ROW[None]), "row: got shape (1, 4)"),
    "double": (change(row=ROW.astype(np.float64)), "row: got float64, need float32"),
    "half": (change(row=ROW.astype(np.float16)), "row: got float16"),
    "whole numbers": (change(row=ROW.astype(np.int64)), "row: got int64"),
    "complex": (change(row=ROW.astype(np.complex64)), "row: got complex64"),
    "objects": (change(row=ROW.astype(object)), "row: got object"),
    "a list": (change(row=[0.0, 1.0, 2.0, 3.0]), "row: got list"),
    "extra array": (change(more=ROW), "arrays: need"),
    "missing array": (lambda reply: replace(reply, arrays={"row": ROW}), "arrays: need"),
    "renamed array": (lambda reply: replace(reply, arrays={"rows": ROW, "loss": np.array(0.5)}), "arrays: need"),
    "no examples": (lambda reply: replace(reply, examples=0), "examples: got 0"),
    "negative examples": (lambda reply: replace(reply, examples=-1000), "examples: got -1000"),
    "too many examples": (lambda reply: replace(reply, examples=10 * MAX_EXAMPLE_FACTOR + 1), "examples: got 101"),
    "fraction": (lambda reply: replace(reply, examples=2.5), "examples: got 2.5"),  # type: ignore[arg-type]  # a lie
    "truth value": (lambda reply: replace(reply, examples=True), "examples: got True"),
    "older round": (lambda reply: replace(reply, round=2), "round: got 2, need 3"),
    "future round": (lambda reply: replace(reply, round=4), "round: got 4, need 3"),
    "other verb": (lambda reply: replace(reply, verb="evaluate"), "verb: got 'evaluate'"),
    "a number too long to print": (lambda reply: replace(reply, examples=10**5000), "examples: got a huge number"),
    "a verb that is an array": (lambda reply: replace(reply, verb=np.array([1, 2])), "verb: got a ndarray"),  # type: ignore[arg-type]
    "a verb without end": (lambda reply: replace(reply, verb="x" * 10**6), "verb: got 'xxx"),
    "stranger": (lambda reply: replace(reply, client="z"), "client: was not asked"),
    "position for a name": (lambda reply: replace(reply, client=1), "client: was not asked"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_refuses_only_the_offender(name: str, place: int) -> None:
    breaking, reason = BROKEN[name]
    replies = [breaking(good(client)) if number == place else good(client) for number, client in enumerate("abc")]
    heard, refused = admitted(replies)
    assert heard == [client for number, client in enumerate("abc") if number != place]
    assert len(refused) == 1
    assert refused[0].startswith(reason)


HUGE = np.where(np.arange(12) == 9, 1e30, 1).astype(np.float32).reshape(2, 6)


def products(place: int, value: float) -> NDArray[np.float32]:
    return np.where(np.arange(21) == place, value, 50).astype(np.float32)


@pytest.mark.parametrize(
    ("verb", "arrays", "reason"),
    [
        # Distances between such models or points would be infinite, and no method could go on.
        ("train", {"row": HUGE[1, 2:]}, "row: got 1e+30, need at most 1e+09"),
        ("train", {"row": -HUGE[1, 2:]}, "row: got -1e+30, need at least -1e+09"),
        ("evaluate", {"score": np.array([11.0, 11.0])}, "score: got 11, need at most 10"),
        ("evaluate", {"score": np.array([-1.0, 1.0])}, "score: got -1, need at least 0"),
        ("evaluate", {"counts": np.array([11, 0, 0, 0], np.int64)}, "counts: got 11, need at most 10"),
        ("evaluate", {"counts": np.array([-1, 0, 0, 0], np.int64)}, "counts: got -1, need at least 0"),
        ("sketch", {"points": HUGE}, "points: got 1e+30, need at most 1e+09"),
        ("sketch", {"points": -HUGE}, "points: got -1e+30, need at least -1e+09"),
        *(
            ("sketch", {"points": np.ones((count, 6), np.float32), "counts": np.ones(count, np.int64)}, "points: got")
            for count in (0, 3)
        ),
        *(
            ("sketch", {"points": np.ones((2, features), np.float32)}, "points: got shape")
            for features in (0, 5, 7, 640)
        ),
        ("sketch", {"counts": np.array([10**15, 1], np.int64)}, "counts: got more than 10 examples"),
        ("sketch", {"counts": np.array([0, 10], np.int64)}, "counts: got 0, need at least 1"),
        ("sketch", {"counts": np.array([0, 0], np.int64)}, "counts: got 0, need at least 1"),
        ("moments", {"counts": np.array([9, 2, 0], np.int64)}, "counts: got more than 10"),
        ("moments", {"counts": np.array([9, -1, 0], np.int64)}, "counts: got -1"),
        ("moments", {"counts": np.array([9, 1, 2**62], np.int64)}, "counts: got more than 10"),
        ("moments", {"counts": np.array([10, 0, 0], np.int64)}, "means: got some of labels without examples"),
        ("moments", {"variances": np.array([0.5, 0.5, 0], np.float32)}, "means: got some of labels without examples"),
        ("moments", {"variances": np.array([-0.5, 0, 0], np.float32)}, "variances: got -0.5, need at least 0"),
        ("moments", {"variances": np.array([np.inf, 0, 0], np.float32)}, "variances: got 1 of 3 values NaN"),
        ("moments", {"means": MEANS * np.float32(1e30)}, "means: got 2e+30, need at most 1e+09"),
        ("moments", {"means": -MEANS * np.float32(1e30)}, "means: got -2e+30, need at least -1e+09"),
        ("moments", {"means": MEANS[:2]}, "means: got shape (2, 6), need (3, 6)"),
        ("moments", {"token": np.array(0.5)}, "token: got float64"),
        ("changed", {"changed": np.array(1, np.int64)}, "changed: got int64, need bool"),
        ("scatter", {"total": np.full(6, 20.0, np.float32)}, "total: got float32"),
        ("scatter", {"total": np.full(5, 20.0)}, "total: got shape (5,), need (6,)"),
        ("scatter", {"products": np.full((6, 6), 50, np.float32)}, "products: got shape (6, 6)"),
        ("scatter", {"products": np.full(36, 50, np.float32)}, "products: got shape (36,), need (21,)"),
        ("scatter", {"products": np.full(21, np.nan, np.float32)}, "products: got 21 of 21"),
        ("scatter", {"products": np.full(21, 1e20, np.float32)}, "products: got 1e+20, need at most 1e+19"),
        # Of ten examples that sum to 20, the squares sum to 40 or more, and to no negative number.
        ("scatter", {"products": np.full(21, 39, np.float32)}, "total: got more than its squares allow"),
        ("scatter", {"products": np.full(21, -50, np.float32)}, "total: got more than its squares allow"),
        # More of columns, verb by verb: tests/wire/test_columns.py.
        ("columns", {"names": json_array([1])}, "names: got something else"),
        ("columns", {"filled": np.array([11])}, "filled: got more than 10 cells"),
        ("column_counts", {"counts": np.array([[6], [5]])}, "counts: got more than 10 values"),
        ("column_sums", {"sums": np.array([4.5])}, "sums: got more than the bounds allow"),
        # |xy| is 50 at the most where xx and yy are: the second number stands beside the diagonal.
        ("scatter", {"products": products(1, 51)}, "products: got more than their squares"),
        ("scatter", {"products": products(19, -51)}, "products: got more than their squares"),
    ],
)
def test_refuses_what_cannot_be_said_of_examples(verb: str, arrays: Mapping[str, Any], reason: str) -> None:
    assert fault(change(**arrays)(good("a", verb)), ask("a", verb), 10).startswith(reason)


def test_a_reason_is_a_short_line() -> None:
    _, refused = admitted([replace(good("a"), verb="x" * 10**6)])
    assert len(refused[0]) < 120


def test_the_first_usable_reply_of_a_client_counts() -> None:
    second = replace(good("a"), examples=5)
    gate = Gate({"a": ask("a")}, ENROLLED)
    (heard,) = gate.admit([replace(good("a"), examples=0), good("a"), second])
    assert heard.examples == 10
    assert [refusal.reason for refusal in gate.refusals][1] == "client: has answered already"


@given(st.permutations("abc"), st.sets(st.sampled_from("abc")))
def test_gives_replies_in_the_order_of_the_request(arrival: list[str], silent: set[str]) -> None:
    heard, refused = admitted(good(client) for client in arrival if client not in silent)
    assert heard == [client for client in "abc" if client not in silent]
    assert refused == []


def test_hands_on_without_waiting_for_the_rest() -> None:
    """A mean can be taken while models arrive: the first of the request is given before the second is there."""
    arrived: list[str] = []

    def arriving() -> Iterable[Reply]:
        for client in "abc":
            arrived.append(client)
            yield good(client)

    gate = Gate({client: ask(client) for client in "abc"}, ENROLLED)
    next(iter(gate.admit(arriving())))
    assert arrived == ["a"]


def test_only_the_diagonal_of_products_is_squares() -> None:
    """The upper triangle of 3 x 3, row by row: its diagonal stands at 0, 3 and 5."""
    assert diagonal(3).tolist() == [0, 3, 5]
    assert np.array_equal(np.eye(6)[np.triu_indices(6)].nonzero()[0], diagonal(6))
