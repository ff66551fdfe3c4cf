"""A user's own arrays: everything wrong is said with its place, and the split is exact and seeded."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import Dataset, TensorDataset

from fedclade.data import Federation, Part, from_arrays
from refusals import check_refused

INPUTS: NDArray[np.float64] = np.arange(40.0).reshape(10, 4)
LABELS: NDArray[np.int64] = np.arange(10) % 3
GOOD = (INPUTS, LABELS)


def with_nan() -> NDArray[np.float64]:
    broken = INPUTS.copy()
    broken[4, 1] = np.nan
    return broken


def firsts(part: Part) -> list[float]:
    """Which examples these are: in INPUTS the first number of a row is its own."""
    return sorted(part.inputs.reshape(len(part), -1)[:, 0].tolist())


@pytest.mark.parametrize(
    ("inputs", "labels", "what", "got", "need"),
    [
        (with_nan(), LABELS, "inputs are not finite", "in 1 of 10 examples", "finite numbers"),
        (INPUTS[:, 0], LABELS, "inputs are not numbers in rows", "float64 (10,)", "(examples, ...)"),
        (INPUTS.astype(str), LABELS, "inputs are not numbers in rows", "<U", "numbers"),
        (INPUTS.astype(object), LABELS, "inputs are not numbers in rows", "object", "numbers"),
        (INPUTS + 1j, LABELS, "inputs are not numbers in rows", "complex128", "numbers"),
        (INPUTS, LABELS[:9], "labels do not fit the inputs", "int64 (9,)", "whole numbers (10,)"),
        (INPUTS, LABELS[:, None], "labels do not fit the inputs", "int64 (10, 1)", "whole numbers (10,)"),
        (INPUTS, LABELS + 0.5, "labels do not fit the inputs", "float64 (10,)", "whole numbers (10,)"),
        (INPUTS, [[0], [0, 1]], "a client's data are not arrays", "inhomogeneous", "(inputs, labels)"),
        (torch.ones(10, 4, requires_grad=True), LABELS, "a client's data are not arrays", "detach", "(inputs, labels)"),
        (INPUTS, LABELS - 1, "a label is negative", "-1", ">= 0"),
        (INPUTS[:1], LABELS[:1], "too few examples", "1", "at least 2"),
        (INPUTS[:0], LABELS[:0], "too few examples", "0", "at least 2"),
    ],
)
def test_bad_arrays_say_what_where_got_and_need(
    inputs: ArrayLike, labels: ArrayLike, what: str, got: str, need: str
) -> None:
    error = check_refused(what, from_arrays, {"site-1": GOOD, "site-2": (inputs, labels)}, name="mine")
    assert error.where.startswith('mine, client "site-2"')
    assert got in error.got
    assert need in error.need


def test_clients_shapes_and_shares_are_checked() -> None:
    """Rows of unequal length too: numpy's own ValueError names no client."""
    check_refused('client "site-1"', from_arrays, {"site-1": ([[1.0, 2.0], [3.0]], [0, 1])})
    check_refused("inputs are too large", from_arrays, {"site-1": (INPUTS + 1e300, LABELS)})
    for test in (0.0, 1.0, -0.1, 1.5, float("nan")):
        check_refused("over 0 and under 1", from_arrays, {"a": GOOD}, test=test)
    check_refused("there are no clients, mine", from_arrays, {}, name="mine")
    check_refused("not a usable name, mine", from_arrays, {"": GOOD}, name="mine")
    said = r'inputs differ in shape, mine: got \(4,\) in client "a" and \(2, 2\) in'
    check_refused(said, from_arrays, {"a": GOOD, "b": (INPUTS.reshape(10, 2, 2), LABELS)}, name="mine")


def split(n: int, test: float, seed: int) -> Federation:
    inputs = np.arange(n * 2.0).reshape(n, 2) * 0.5
    return from_arrays({"a": (inputs, np.arange(n) % 2), "b": (inputs, np.arange(n) % 2)}, test=test, seed=seed)


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_the_split_is_disjoint_covering_and_seeded(n: int, test: float, seed: int) -> None:
    federation = split(n, test, seed)
    for client in federation.clients:
        train, held = federation[client].train, federation[client].test
        assert sorted(firsts(train) + firsts(held)) == [float(number) for number in range(n)]
        assert min(len(train), len(held)) >= 1
        wanted = min(max(test * n, 1), max(n - 2, 1))  # one of each of the two classes is learned from
        assert abs(len(held) - wanted) <= 1
    assert split(n, test, seed).fingerprint == federation.fingerprint


def test_a_split_depends_on_seed_and_client_alone() -> None:
    """Two random halves of 60 are alike once in 10^17."""
    one, other = split(60, 0.5, 0), split(60, 0.5, 1)
    assert one.fingerprint != other.fingerprint
    assert firsts(one["a"].test) != firsts(other["a"].test)
    assert firsts(one["a"].test) != firsts(one["b"].test)
    alone, among = from_arrays({"a": GOOD}), from_arrays({"b": GOOD, "a": GOOD})
    assert firsts(alone["a"].test) == firsts(among["a"].test)


def test_labels_stay_and_numbers_of_any_kind_are_inputs() -> None:
    held = from_arrays({"a": GOOD})["a"]
    for part in (held.train, held.test):
        assert part.labels.tolist() == [int(first) // 4 % 3 for first in part.inputs[:, 0]]
    # Bytes are read as images, 0 to 1; other numbers are taken as they are.
    assert from_arrays({"a": ([[1, 2], [3, 4]], [0, 1])})["a"].train.inputs.dtype == np.float32
    assert from_arrays({"a": (INPUTS.astype(int), LABELS)})["a"].train.inputs.max() > 1
    assert from_arrays({"a": (np.full((4, 2), 51, np.uint8), [0, 1, 0, 1])})["a"].train.inputs.max() == np.float32(0.2)


def test_one_class_is_enough_for_a_client_but_not_for_all() -> None:
    assert from_arrays({"a": GOOD, "b": (INPUTS, LABELS * 0)}).classes == 3
    for only in (0, 3):
        alike = dict.fromkeys("ab", (INPUTS, LABELS * 0 + only))
        check_refused(f"there is only one class, mine: got {only} everywhere", from_arrays, alike, name="mine")
    assert from_arrays({"a": GOOD, "b": (INPUTS, LABELS * 3)}).classes == 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_the_users_arrays_stay_the_users(dtype: type[np.generic]) -> None:
    """They can still be written, and what is written does not reach the federation."""
    inputs, labels = INPUTS.astype(dtype), LABELS.copy()
    federation = from_arrays({"a": (inputs, labels)})
    before = federation["a"].train.inputs
    inputs[:], labels[:] = 7, 0
    assert federation["a"].train.inputs.tolist() == before.tolist()
    assert set(federation["a"].train.labels) | set(federation["a"].test.labels) == {0, 1, 2}


def read(arrays: Any, **options: Any) -> Federation:
    """The federation of anything."""
    return from_arrays(arrays, name="mine", **options)


def examples(federation: Federation) -> dict[str, list[object]]:
    """The examples of every client, learned from and held out."""
    return {
        client: [each.tolist() for part in (held.train, held.test) for each in (part.inputs, part.labels)]
        for client, held in federation.data.items()
    }


def test_labels_may_be_text_and_clients_whole_numbers() -> None:
    names = ["leak", "none", "worn"]
    spoken = np.array(names)[LABELS]
    federation = read({1: (INPUTS, spoken), np.int64(2): (INPUTS, spoken.astype(object))})
    assert (federation.clients, federation.class_names, federation.classes) == (("1", "2"), tuple(names), 3)
    assert examples(federation) == examples(from_arrays({"1": GOOD, "2": GOOD}))
    assert from_arrays({"a": (INPUTS, ["01", "1"] * 5)}).class_names == ("01", "1")
    check_refused("there is only one class, mine: got 'x'", read, {1: (INPUTS, ["x"] * 10)})
    check_refused('client "1" is there twice', read, {1: GOOD, "1": GOOD})
    check_refused('"b": got NoneType, str, need text', read, {"a": (INPUTS, spoken), "b": (INPUTS, ["x", None] * 5)})
    check_refused('"a": got int, need .* the same with every', read, {"a": GOOD, "b": (INPUTS, spoken)})
    for client in (1.5, True, None):
        check_refused("a client's id is not text", read, {client: GOOD})


class Pairs(Dataset[tuple[list[float], str]]):
    """Items with labels of text."""

    def __len__(self) -> int:
        return len(INPUTS)

    def __getitem__(self, index: int) -> tuple[list[float], str]:
        return INPUTS[index].tolist(), f"class {LABELS[index]}"


def test_datasets_of_torch_are_taken() -> None:
    federation = from_arrays({"a": TensorDataset(torch.tensor(INPUTS), torch.tensor(LABELS))})
    assert examples(federation) == examples(from_arrays({"a": GOOD}))
    federation = from_arrays({"a": Pairs(), "b": Pairs()})
    assert federation.class_names == ("class 0", "class 1", "class 2")
    assert examples(federation) == examples(from_arrays({"a": GOOD, "b": GOOD}))
    labels = torch.zeros(10, 3)
    for items in (
        TensorDataset(labels),
        TensorDataset(labels[:0]),
        pd.DataFrame(INPUTS),
    ):
        check_refused('Dataset\'s items are not usable, mine, client "a": .*need items', read, {"a": items})
    for other in (None, 3, "ab", INPUTS, {"x": INPUTS, "y": LABELS}, (INPUTS,)):
        check_refused('client\'s data are not arrays, mine, client "a"', read, {"a": other})
    check_refused("the data are not by client, mine: got list", read, [GOOD])


def test_the_rows_to_test_on_may_be_given() -> None:
    rest = {"a": (INPUTS[:3], LABELS[:3]), "b": (INPUTS[3:4], LABELS[3:4])}
    federation = from_arrays({"b": GOOD, "a": GOOD}, test=rest)
    assert firsts(federation["a"].train) == INPUTS[:, 0].tolist()
    assert firsts(federation["a"].test) == [0, 4, 8]
    assert federation["b"].test.labels.tolist() == [0]
    check_refused('clients differ, .*"b" in one of them alone', read, {"a": GOOD, "b": GOOD}, test={"a": GOOD})
    check_refused('client "a": got .*dimension', read, {"a": GOOD}, test={"a": (INPUTS[:, :1], LABELS)})
    check_refused('client "a" has no test examples', read, {"a": GOOD}, test={"a": (INPUTS[:0], LABELS[:0])})


def test_rows_of_a_dataset_of_hugging_face_are_pairs_too() -> None:
    """Whichever column comes first: the one that is called label is the label."""
    datasets = pytest.importorskip("datasets")
    rows = {"label": [0, 1, 0, 1], "x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]}
    found = from_arrays({"a": datasets.Dataset.from_dict(rows), "b": datasets.Dataset.from_dict(rows)})
    assert sorted(found["a"].train.inputs[:, 0].tolist() + found["a"].test.inputs[:, 0].tolist()) == [1, 3, 5, 7]
    other = datasets.Dataset.from_dict({**rows, "y": rows["label"]})
    check_refused("rows with the columns label, x, y: two are needed", from_arrays, {"a": other, "b": other})
