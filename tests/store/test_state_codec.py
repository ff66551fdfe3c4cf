"""A state comes back from its packing as it was, and a file can never say what to build."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.core import Assignment, ClientId, Groups, Row
from fedclade.store.state_codec import pack, unpack


@dataclass(frozen=True)
class Inner:
    groups: Groups
    ratio: float


@dataclass(frozen=True)
class Outer:
    number: int
    name: str
    flag: bool
    inner: Inner
    maybe: Inner | None
    nothing: int | None
    ages: Mapping[ClientId, int]
    by_number: dict[int, tuple[float, ...]]
    pair: tuple[ClientId, float]
    children: tuple[Inner, ...]


SCORE = st.floats(allow_nan=False)
INNER = st.builds(Inner, st.just(Groups((("a", "b"), ("c",)))), SCORE)


OUTER = st.builds(
    Outer,
    inner=INNER,
    maybe=st.none() | INNER,
    by_number=st.dictionaries(st.integers(), st.lists(SCORE).map(tuple)),
    pair=st.tuples(st.text(), SCORE),
    children=st.lists(INNER).map(tuple),
)


@given(OUTER)
def test_plain_data_come_back(value: Outer) -> None:
    tree, arrays = pack(value)
    assert arrays == {}
    assert unpack(Outer, json.loads(json.dumps(tree)), arrays) == value


@dataclass(frozen=True, eq=False)
class WithArrays:
    row: Row
    counts: NDArray[np.int64]
    models: Assignment
    each: dict[ClientId, Row]


def test_arrays_come_back_bit_by_bit() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((2, 5)).astype(np.float32)
    value = WithArrays(rows[0], np.arange(3), Assignment(rows, {"b": 1, "a": 0}), {"x": rows[1], "y": rows[0, ::2]})
    found = unpack(WithArrays, *pack(value))
    assert found.row.tobytes() == rows[0].tobytes()
    assert found.counts.dtype == np.int64
    assert found.models.row_by_client == {"a": 0, "b": 1}
    assert np.array_equal(found.models.rows, rows)
    assert np.array_equal(found.each["y"], rows[0, ::2])


@pytest.mark.parametrize("foreign", [{1, 2}, object(), lambda: None, np.float64(1.0).dtype])
def test_only_plain_data_can_be_packed(foreign: object) -> None:
    with pytest.raises(TypeError, match="a state holds arrays"):
        pack(foreign)
